import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { CHECKOUT } from '@parley/local/checkout'
import { findOutpost } from './peers/find-outpost.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-peers-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

test("without Outpost's source the row says so, and nothing is measured", async () => {
  const results = join(directory, 'results.jsonl')
  const env = { ...process.env, PEERS: directory, BENCH_RESULTS: results }
  await promisify(execFile)(process.execPath, [join(CHECKOUT, 'tests/bench/peers/run.ts')], { env })
  const rows = (await readFile(results, 'utf8')).trim().split('\n')
  expect(rows.map((row) => JSON.parse(row))).toEqual([
    {
      row: 'messages from the API to a webhook, beside Outpost',
      parley: '',
      against: expect.stringContaining(`not measured: its source (${join(directory, 'outpost')})`),
    },
  ])
})

test('the source is the folder `outpost` with a Go module', async () => {
  await mkdir(join(directory, 'outpost'))
  expect(missingIn(directory)).toContain(`its source (${join(directory, 'outpost')})`)
  await writeFile(join(directory, 'outpost/go.mod'), 'module example.com/outpost\n')
  expect(missingIn(directory).join()).not.toContain('source')
  expect(missingIn(undefined)).toContain('its source (PEERS is not set)')
})

function missingIn(peers: string | undefined): string[] {
  const found = findOutpost(peers)
  return 'missing' in found ? found.missing : []
}
