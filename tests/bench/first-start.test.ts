import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { reportFirstStart } from './first-start.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'parley-base-'))
  process.env.BENCH_RESULTS = join(directory, 'results.jsonl')
})
afterEach(async () => {
  delete process.env.BENCH_RESULTS
  await rm(directory, { recursive: true, force: true })
})

test('without another checkout the row of the first start says so, and nothing is measured', async () => {
  await reportFirstStart({ base: undefined, turns: 1 })
  await reportFirstStart({ base: directory, turns: 1 })
  const rows = (await readFile(join(directory, 'results.jsonl'), 'utf8')).trim().split('\n')
  expect(rows.map((row) => JSON.parse(row).against)).toEqual([
    'not measured: another checkout (BASE is not set)',
    'not measured: another checkout (BASE is none)',
  ])
})
