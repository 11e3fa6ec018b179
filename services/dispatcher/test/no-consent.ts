/** For tests in which nobody says anything of consent. */
export const noConsent = {
  suppressions: { isOptedOut: async () => false },
  recordConsent: async () => {},
  heed: async () => {},
}
