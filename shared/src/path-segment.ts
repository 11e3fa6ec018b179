// A path has no encoded control character, slash or backslash: whoever reads it might take it for another one.
const UNADDRESSABLE = /[\p{Cc}/\\]|^\.{0,2}$/u

/** True when a text, percent-encoded, can be a segment of a path that the gateway takes. */
export const canBeSegment = (text: string): boolean => !UNADDRESSABLE.test(text)
