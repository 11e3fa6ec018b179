import { Problem } from './problem.ts'

/** Settles as `promise` does, or rejects with `unavailable` after `milliseconds`. */
export async function withTimeout<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Problem('unavailable', { detail: 'What is needed for this does not answer in time.' }))
    }, milliseconds)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
