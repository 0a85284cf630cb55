/** What the reference Go packages answer (`golang.org/x/mod/sumdb/dirhash`, OpenTofu's `getproviders` tests), as data. */

/** Files of a package, by name; a name that ends with '/' is a zip's directory entry. */
export const H1_VECTORS: readonly { readonly name: string; readonly files: Readonly<Record<string, string>>; readonly h1: string }[] = [
  { name: 'nothing', files: {}, h1: 'h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' },
  { name: 'dotfile', files: { '.hidden': 'H', a: 'A' }, h1: 'h1:cYd/Hno9ufuMW1xJArIC1S5n1DQOHtpJyq/dWSbsFxg=' },
  { name: 'nested', files: { a: 'A', 'sub/x': 'X' }, h1: 'h1:0+x4wsl6YcZFg8ihY/PvPD6LV3nZXdTv2b2VXa4F57A=' },
  { name: 'one', files: { a: 'A' }, h1: 'h1:77+HJY0jKpvFSQCqAzAFgo3gAmWXSaP/lAEbfPX960M=' },
  { name: 'nested zip with sub/ entry', files: { a: 'A', 'sub/': '', 'sub/x': 'X' }, h1: 'h1:XV6EIYzpVzYHlqaQXm6jcjM3Orm33ddty1sQJVoFA4c=' },
  { name: 'sort', files: { 'a-b': '1', 'a/b': '2', 'a.b': '3', ab: '4', B: '5', _: '6' }, h1: 'h1:2sXhypkEtt5CqAT37q9drN+d9GZ5IBr/uloGHzKOwqI=' },
  { name: 'empty executable', files: { 'terraform-provider-bar': '' }, h1: 'h1:6cU1EXqJ1xuhhaeWD2wav+GdmtD70XFXAO+QJpFtU/E=' },
  { name: 'zip symlink entry as text', files: { link: 'target', a: 'A' }, h1: 'h1:+12XXQMWEuGC5VoYiO66l1VFDfkEaSC9USW9sCqjwGo=' },
  { name: 'symlink to file equals regular', files: { real: 'R', link: 'R' }, h1: 'h1:Ai8Z3p/oU3SEmaghsvgp8BOvsrbMtXfzxszUmXXfncc=' },
];

/** The platforms of one realistic document, and their checksums. */
export const REALISTIC_SUMS: readonly (readonly [checksum: string, platform: string])[] = [
  ['7d7e888fdd28abfe00894f9055209b9eec785153641de98e6852aa071008d4ee', 'darwin_amd64'],
  ['f8b6cf9ade087c17826d49d89cef21261cdc22bd27065bbc5b27d7dbf7fbbf6c', 'freebsd_386'],
  ['a5ba9945606bb7bfb821ba303957eeb40dd9ee4e706ba8da1eaf7cbeb0356e63', 'freebsd_amd64'],
  ['df3a5a8d6ffff7bacf19c92d10d0d500f98169ea17b3764b01a789f563d1aad7', 'freebsd_arm'],
  ['086119a26576d06b8281a97e8644380da89ce16197cd955f74ea5ee664e9358b', 'linux_386'],
  ['1e5f7a5f3ade7b8b1d1d59c5cea2e1a2f8d2f8c3f41962dbbe8647e222be8239', 'linux_amd64'],
  ['0e9fd0f3e2254b526a0e81e0cfdfc82583b0cd343778c53ead21aa7d52f776d7', 'linux_arm'],
  ['66a947e7de1c74caf9f584c3ed4e91d2cb1af6fe5ce8abaf1cf8f7ff626a09d1', 'openbsd_386'],
  ['def1b73849bec0dc57a04405847921bf9206c75b52ae9de195476facb26bd85e', 'openbsd_amd64'],
  ['48f1826ec31d6f104e46cc2022b41f30cd1019ef48eaec9697654ef9ec37a879', 'solaris_amd64'],
  ['17e0b496022bc4e4137be15e96d2b051c8acd6e14cb48d9b13b262330464f6cc', 'windows_386'],
  ['2696c86228f491bc5425561c45904c9ce39b1c676b1e17734cb2ee6b578c4bcd', 'windows_amd64'],
];
