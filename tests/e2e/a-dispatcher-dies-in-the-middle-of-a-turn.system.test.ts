import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { clinicDocuments } from '@parley/local/demo/assistant/clinic'
import { dispatchersOf, readRunFile } from '@parley/local/demo/running-system'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type OwnSystem, startOwnSystem } from '../lab/system/own-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

const LONG_MS = 5_000

let own: OwnSystem
let clinic: Clinic
let diary: Listening
/** The idempotency keys of the calls of the diary, which does not answer the first one where it is to stall. */
let keys: unknown[]
let stalls = false

beforeAll(async () => {
  own = await startOwnSystem({ instances: { dispatcher: 2 }, say: () => undefined })
  const { gatewayUrl, simulatorUrl, modelSimulatorUrl } = own.system
  clinic = await openClinic({ parley: { url: gatewayUrl }, simulatorUrl, modelSimulatorUrl }, 'killed')
  diary = await listen((req, res) => {
    keys.push(req.headers['idempotency-key'])
    if (stalls && keys.length === 1) return
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"times":["10:00"]}')
  })
  const number = { simulatorUrl: 'http://unused', phoneNumberId: '1', appSecret: '' }
  const [[resource, id, action] = ['', 0, {}]] = clinicDocuments({ diaryUrl: diary.url, number })
  await clinic.call('PUT', `/rest/${resource}/${id}`, action)
})
beforeEach(() => {
  keys = []
})
afterAll(async () => {
  await diary?.close()
  await clinic?.close()
  await own?.stop()
})

/** Kills every dispatcher, wherever the thread is; others are started in their place. */
function killDispatchers(): void {
  const running = readRunFile(own.runFile)
  for (const name of dispatchersOf(running ?? { processes: {} })) {
    const pid = running?.processes[name]?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }
}

/** The message that came after so many others, however long no dispatcher is there to say so. */
const responseAfterAll = (before: number) =>
  eventually(() => clinic.responded(before).catch(() => undefined), { timeoutMs: 120_000 })

const freeTimes = { calls: [{ name: 'freeTimes', arguments: { day: 'Friday' } }] }

test('killed while the model is asked, the turns before are not repeated, and the answer comes once', async () => {
  await clinic.script(freeTimes, { text: 'At nine.', delayMs: LONG_MS, times: 2 })
  await clinic.write('When?')
  await eventually(async () => (await clinic.requests()).length === 2)
  killDispatchers()
  const message = await responseAfterAll(0)
  expect(message.turns.map(({ text }: { text: string }) => text)).toEqual(['', 'At nine.'])
  expect(await clinic.texts()).toEqual(['At nine.'])
  expect(await clinic.requests()).toHaveLength(3)
  expect(keys).toHaveLength(1)
})

test('killed while a function runs, it is called again under the same id, and the answer comes once', async () => {
  stalls = true
  await clinic.script(freeTimes, { text: 'At ten.' })
  await clinic.write('And on Friday?')
  await eventually(() => keys.length === 1)
  killDispatchers()
  const message = await responseAfterAll(1)
  expect(keys).toEqual([keys[0], keys[0]])
  expect(message.turns).toHaveLength(2)
  expect(await clinic.texts()).toEqual(['At nine.', 'At ten.'])
})
