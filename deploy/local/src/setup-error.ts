/** Something outside the program prevents the set-up; the message says what, and what to do about it. */
export class SetupError extends Error {}
