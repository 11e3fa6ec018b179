import { mongo } from 'mongoose'

const { prototype } = mongo.Collection
const { updateOne, deleteOne } = prototype

/** Holds the next write of the kind to a collection back until `release`, and those after it not. */
export function pauseNextWrite(kind: 'updateOne' | 'deleteOne', collection: string) {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const write = { updateOne, deleteOne }[kind] as (...given: unknown[]) => Promise<unknown>
  const pause = async function (this: mongo.Collection, ...given: unknown[]) {
    if (this.collectionName !== collection) return write.apply(this, given)
    resumeWrites()
    reached.resolve()
    await released.promise
    return write.apply(this, given)
  }
  Object.assign(prototype, { [kind]: pause })
  return { reached: reached.promise, release: released.resolve }
}

/** Lets every write through again. */
export function resumeWrites(): void {
  Object.assign(prototype, { updateOne, deleteOne })
}
