/** A role in a sentence: those that each workspace begins with are in capitals, such as `WORKSPACE_ADMIN`. */
export const roleInWords = (name: string): string =>
  /^[A-Z_]+$/.test(name) ? name.toLowerCase().replaceAll('_', ' ') : name
