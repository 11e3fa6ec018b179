import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openJournal } from '@parley/local/simulator/journal'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'journal-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

async function openAndRead() {
  const entries: unknown[] = []
  const journal = await openJournal({
    directory,
    name: 'x',
    maxLines: 10,
    onEntry: (entry) => entries.push(entry),
  })
  return { journal, entries }
}

test('a journal stores entries in order, at least the newest ones and at most two files of them', async () => {
  const { journal } = await openAndRead()
  for (let at = 0; at < 35; at++) await journal.append({ at })
  await journal.close()
  const { journal: reopened, entries } = await openAndRead()
  await reopened.close()
  expect(entries).toEqual(Array.from({ length: 15 }, (_, index) => ({ at: index + 20 })))
  expect(readdirSync(directory).sort()).toEqual(['x.jsonl', 'x.previous.jsonl'])
})

test('a journal writes concurrent appends in their order', async () => {
  const { journal } = await openAndRead()
  await Promise.all(Array.from({ length: 9 }, (_, at) => journal.append({ at })))
  await journal.close()
  const { journal: reopened, entries } = await openAndRead()
  await reopened.close()
  expect(entries).toEqual(Array.from({ length: 9 }, (_, at) => ({ at })))
})
