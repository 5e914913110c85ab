// A source gives what is shown. Views know nothing else:
//   load()        the report, as `qsniff report -o json` prints it
//   exchange(id)  one exchange with its layout, which the report may have left out
//   watch(tell, say)  calls tell with each newer report, say with {fault, at} of the connection,
//                     and returns what ends that
//   counts        true of a program that counts and does not read messages: its reports have no
//                 exchanges, findings and clients, because it keeps none

/** embeddedSource reads the report that the page itself carries. */
export function embeddedSource(text) {
  return {
    load: async () => JSON.parse(text),
    exchange: async () => { throw new Error("This page has no access to the capture."); },
    watch: () => () => {},
  };
}
