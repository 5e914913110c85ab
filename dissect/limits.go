package dissect

// MaxFields bounds the fields of one message. The longest honest message known
// has 261 rules, 784 fields; a 64 KiB reply of empty rules would make 98,000.
// At 48 bytes a field this keeps a message's list below 600 KiB.
const MaxFields = 12_288

// maxSecrets bounds the secrets that a text is cut into pieces around. The list of
// all variables of a server has about ten; MaxFields must not end the cutting,
// because what is after it is shown.
const maxSecrets = 64

// maxDepth bounds nesting: message, list, group, list, group are in use.
const maxDepth = 8

// maxAux bounds the decoded bytes that Parts keeps of one message. They are decoded
// from bytes of it, and no server has reason to send more than one datagram holds.
const maxAux = 64 << 10
