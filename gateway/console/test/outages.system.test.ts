import { expect, test } from '@jest/globals'
import { readRunFile } from '@parley/local/demo/running-system'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { goInside, signIn } from './pages.ts'

const KILLED_MS = 60_000
const BACK_MS = 120_000

const system = consoleSystem({
  async prepare({ parley, garden }) {
    const config = {
      phoneNumberId: '41',
      accessToken: 'secret',
      apiUrl: `${parley.system.simulatorUrl}/v23.0`,
    }
    const body = {
      ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp', config },
      handlerUrl: 'native:agents/echo',
    }
    await parley.call('PUT', '/rest/channels/1', { body, token: garden.token })
  },
})
const { onPage, open } = system

/** Posts until it is accepted. */
const post = (thread: string) =>
  eventually(
    async () => {
      const user = { name: 'Rui', phone: '+5511988880000' }
      const body = { extId: 'line', user, thread: { extId: thread }, answer: { message: 'Hello' } }
      const options = { body, token: system.garden.token }
      const { status } = await system.parley
        .call('POST', '/rest/messages', options)
        .catch(() => ({ status: 0 }))
      return status === 200
    },
    { timeoutMs: BACK_MS },
  )

test('a list shows what happens as the event stream says it, long before it would ask again', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    const opened = page.waitForResponse((response) => response.url().endsWith('/rest/events'))
    await open(page, '/messages?thread=live', '.empty')
    await opened
    await post('live')
    await page.locator('tbody tr').first().waitFor({ timeout: 20_000 })
  })
})

test('with the event stream cut in the middle a banner says so, lists ask by themselves, and the stream is taken up again', async () => {
  await onPage({}, async (page) => {
    await page.addInitScript(makeStreamsCuttable)
    await signIn(page, system.url, system.garden)
    const opened = page.waitForResponse((response) => response.url().endsWith('/rest/events'))
    await open(page, '/messages?thread=asked', '.empty')
    await opened
    await markLoaded(page)
    await page.route('**/rest/events', (route) => route.abort())
    await page.evaluate(() => dispatchEvent(new Event('cut')))
    const banner = page.getByText('What happens is not told live')
    await banner.waitFor()
    await post('asked')
    await page.locator('tbody tr').first().waitFor()
    await page.unroute('**/rest/events')
    await banner.waitFor({ state: 'detached' })
    await expectNotReloaded(page)
  })
})

test('with nothing more asked of an unavailable service the banner goes, and lists ask as rarely as before', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.route('**/rest/threads*', (route) => route.fulfill({ status: 503, json: { status: 503 } }))
    await goInside(page, '/conversations', '.failure')
    const banner = page.getByText('A service is unavailable')
    await banner.waitFor()
    await page.getByRole('link', { name: 'Channels' }).click()
    await page.unroute('**/rest/threads*')
    await banner.waitFor({ state: 'detached', timeout: 20_000 })
    const asked = async () => {
      await page.waitForRequest((request) => new URL(request.url()).pathname === '/rest/channels')
      return performance.now()
    }
    const before = await asked()
    expect((await asked()) - before).toBeGreaterThan(3_000)
  })
})

test.each([
  ['the gateway', 'The gateway can’t be reached', () => ['gateway']],
  [
    'the dispatcher',
    'A service is unavailable',
    (names: string[]) => names.filter((name) => /^dispatcher/.test(name)),
  ],
])(
  'with %s killed a banner says so, and the page goes on by itself when it is back',
  async (name, words, victims) => {
    await onPage({}, async (page) => {
      const thread = `after ${name} was killed`
      await signIn(page, system.url, system.garden)
      await open(page, `/messages?thread=${encodeURIComponent(thread)}`, '.empty')
      await markLoaded(page)
      const banner = page.getByText(words)
      // It is started again at once, so it is killed until the page has asked meanwhile.
      await eventually(
        async () => {
          kill(victims)
          return (await banner.count()) > 0
        },
        { timeoutMs: KILLED_MS },
      )
      await system.parley.ready()
      await banner.waitFor({ state: 'detached' })
      await post(thread)
      await page.locator('tbody tr').first().waitFor({ timeout: BACK_MS })
      await expectNotReloaded(page)
    })
  },
  240_000,
)

function kill(victims: (names: string[]) => string[]): void {
  const { processes = {} } = readRunFile(system.parley.runFile) ?? {}
  for (const name of victims(Object.keys(processes))) {
    const { pid } = processes[name] ?? {}
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended, and the next one is not there yet.
    }
  }
}

const markLoaded = (page: Page) => page.evaluate(() => Object.assign(globalThis, { loadedBefore: true }))

async function expectNotReloaded(page: Page): Promise<void> {
  expect(await page.evaluate(() => 'loadedBefore' in globalThis)).toBe(true)
}

/** Runs in the page before its own scripts: an event `cut` breaks the event streams that are open. */
function makeStreamsCuttable(): void {
  const send = globalThis.fetch
  globalThis.fetch = (input, init) => {
    if (!(input instanceof Request) || !input.url.endsWith('/rest/events')) return send(input, init)
    const cut = new AbortController()
    addEventListener('cut', () => cut.abort(), { once: true })
    return send(input, { ...init, signal: AbortSignal.any([cut.signal, input.signal]) })
  }
}
