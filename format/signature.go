package format

// Signature is the start of every binary COPY stream; see BeginCopyTo in src/backend/commands/copyto.c.
const Signature = signature
