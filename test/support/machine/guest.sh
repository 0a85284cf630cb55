#!/bin/sh
# The first program of the machine. Its root is the host's own file system: whatever is not covered here by a tmpfs would
# really be written on the host. Makes the machine usable, loads the modules, runs LAB_PROGRAM, tells its exit code, and ends the machine.

# Flushes what was written on the host and on the disk, and nothing else: a mount that is cut off would hang this for ever, and `poweroff` with it.
end() {
  sync -f "$LAB_DIRECTORY"
  [ -z "$LAB_DISK" ] || sync -f "$LAB_DISK"
  echo o >/proc/sysrq-trigger
  sleep 60
}

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts
for directory in /run /dev/shm /var/lib/nfs; do [ ! -d "$directory" ] || mount -t tmpfs tmpfs "$directory"; done
# Whoever started the machine may be gone: then nobody else ends it.
(sleep "$LAB_SECONDS"; echo "lab: out of time after $LAB_SECONDS s"; end) &

hostname lab
mkdir -p /run/lab/tmp /run/lab/kernel/lib/modules
export TMPDIR=/run/lab/tmp
# /lib/modules may be missing on the host, and is not ours to make.
ln -s "$LAB_MODULES" "/run/lab/kernel/lib/modules/$(uname -r)"
[ -z "$LAB_LOAD" ] || modprobe -d /run/lab/kernel -a $LAB_LOAD
ip link set lo up

cd "$LAB_ROOT" || end
[ -z "$LAB_DISK" ] || { mkdir -p "$LAB_DISK"; mount -t ext4 /dev/ubda "$LAB_DISK"; } || end
echo 'lab: started'
"$LAB_NODE" "$LAB_PROGRAM" $LAB_WORDS
echo $? >"$LAB_DIRECTORY/exit-code"
end
