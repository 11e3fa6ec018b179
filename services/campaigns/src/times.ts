/** Timeouts and intervals of the campaigns service, in milliseconds. */
export interface Times {
  /** For the next people of an audience; when they are not found in it four times in a row, the campaign pauses. */
  list: number
}

/** The times of a real system. */
export const TIMES: Times = { list: 10_000 }
