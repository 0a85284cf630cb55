/** The parts of undici that are loaded by their own paths; its types describe the front door only. */
declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}
declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';
  const request: Dispatcher['request'];
  export default request;
}
