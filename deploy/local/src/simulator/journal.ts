import { once } from 'node:events'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

interface Journal {
  /** Resolves once the entry has been handed to the operating system; entries are written in order. */
  append(entry: object): Promise<void>
  /** Writes what is waiting and closes the file. */
  close(): Promise<void>
}

interface Waiting {
  line: string
  done: PromiseWithResolvers<void>
}

/**
 * Opens `<name>.jsonl` in `directory` and hands over what is in it, oldest first. After `maxLines` it becomes
 * `<name>.previous.jsonl`, which replaces the one before: never more than twice `maxLines` are stored.
 */
export async function openJournal(options: {
  directory: string
  name: string
  maxLines: number
  onEntry(entry: unknown): void
}): Promise<Journal> {
  const { directory, name, maxLines, onEntry } = options
  await mkdir(directory, { recursive: true })
  const current = join(directory, `${name}.jsonl`)
  const previous = join(directory, `${name}.previous.jsonl`)
  await readEntries(previous, onEntry)
  let lines = await readEntries(current, onEntry)
  let file = await open(current, 'a')
  // A process that was killed may have left half a line.
  if (lines > 0) await file.appendFile('\n')

  const startNewFile = async (): Promise<FileHandle> => {
    await file.close()
    await rename(current, previous)
    lines = 0
    return open(current, 'a')
  }

  let waiting: Waiting[] = []
  let writing: Promise<void> | undefined
  const writeAll = async () => {
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        await file.appendFile(batch.map(({ line }) => `${line}\n`).join(''))
        lines += batch.length
        if (lines >= maxLines) file = await startNewFile()
        for (const { done } of batch) done.resolve()
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    writing = undefined
  }
  return {
    append(entry) {
      const done = Promise.withResolvers<void>()
      waiting.push({ line: JSON.stringify(entry), done })
      writing ??= writeAll()
      return done.promise
    },
    async close() {
      await writing
      await file.close()
    },
  }
}

/** Returns how many lines there were; lines that are not whole are left out. */
async function readEntries(path: string, onEntry: (entry: unknown) => void): Promise<number> {
  if (!existsSync(path)) return 0
  let count = 0
  const reader = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  reader.on('line', (line) => {
    count++
    const entry = parseLine(line)
    if (entry !== undefined) onEntry(entry)
  })
  await once(reader, 'close')
  return count
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
