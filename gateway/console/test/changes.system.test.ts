import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { Page } from 'playwright-core'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })
const read = async (path: string) => (await call('GET', path)).json

const CHANNEL = {
  ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
  handlerUrl: 'native:agents/echo',
}

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const config = { phoneNumberId: '5001', accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` }
  const event = { name: 'Ours', url: `${simulatorUrl}/nothing-there`, events: ['message.dead'] }
  for (const [path, body] of [
    ['/rest/channels/1', { ...CHANNEL, config }],
    ['/rest/jobs/3', { role: 'Guide', goal: 'Onboard', description: '', defaultWorkflow: 1 }],
    ['/rest/assistant/3', { name: 'Bia', description: '', backstory: 'Friendly.', job: 3 }],
    ['/rest/subscriptions/3', event],
  ] as const)
    expect((await call('PUT', path, body)).status).toBe(200)
})

const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click()

describe('a document that somebody else changed after the page had read it', () => {
  test.each([
    ['an assistant', '/assistants/assistant/3', '/rest/assistant/3'],
    ['a channel', '/channels/1', '/rest/channels/1'],
  ])('is not overwritten, and can be loaded again: %s', async (_name, page_, path) => {
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, page_, 'form')
      await page.getByLabel('Name', { exact: true }).fill('Mine')
      const changed = await call('PATCH', path, { description: 'Theirs' })
      expect(changed.status).toBe(200)
      await save(page)
      await page.getByText('This was changed since it was loaded here').waitFor()
      expect(await read(path)).toMatchObject({ name: changed.json.name, description: 'Theirs' })

      await page.getByRole('button', { name: 'Load it again' }).click()
      await eventually(async () => (await page.getByLabel('Description').inputValue()) === 'Theirs')
      await page.getByLabel('Name', { exact: true }).fill('Mine')
      await save(page)
      await page.getByText('Saved.').waitFor()
      expect(await read(path)).toMatchObject({ name: 'Mine', description: 'Theirs' })
    })
  })

  test('nor are its signing secrets, where two people rotate them', async () => {
    const secretsOf = async () =>
      ((await read('/rest/channels/1')).config as { signingSecrets: string[] }).signingSecrets
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/channels/1', 'form')
      const theirs = [`whsec_${'A'.repeat(43)}=`]
      expect((await call('PATCH', '/rest/channels/1', { config: { signingSecrets: theirs } })).status).toBe(
        200,
      )
      const rotate = page.getByRole('button', { name: 'Rotate the signing secret' })
      await rotate.click()
      await page.getByText('This was changed since it was loaded here').waitFor()
      expect(await secretsOf()).toEqual(theirs)
      await eventually(async () => {
        const answer = page.waitForResponse((response) => response.request().method() === 'PATCH')
        await rotate.click()
        return (await answer).status() === 200
      })
      expect((await secretsOf())[1]).toBe(theirs[0])
    })
  })
})

describe('a path', () => {
  test('of a finding about a subscription leads to that subscription', async () => {
    const finding = {
      ...{ code: 'disabled_subscription', resource: 'subscriptions', _id: 3, path: '/disabled' },
      message: 'It is turned off',
    }
    await onPage({}, async (page) => {
      await page.route('**/rest/check', (route) => route.fulfill({ json: { data: [finding], next: null } }))
      await signIn(page, system.url, system.garden)
      await page.getByRole('link', { name: 'subscriptions 3' }).click()
      await page.getByRole('heading', { name: 'Ours' }).waitFor()
    })
  })

  test.each(['/assistants/subscriptions/3', '/assistants/nothing', '/team/nothing'])(
    'that names no resource is no page: %s',
    async (path) => {
      await onPage({}, async (page) => {
        await signIn(page, system.url, system.garden)
        await open(page, path, '.empty')
        await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
      })
    },
  )
})

test('a reply whose response was lost can be edited and sent, and the same one is sent once', async () => {
  const message = {
    extId: 'line',
    user: { name: 'Joana', phone: '5511988887777' },
    answer: {},
    input: 'Hello',
  }
  await call('POST', '/api/hooks/whatsapp', { ...message, thread: { extId: 'joana' } })
  const thread = await eventually(
    async () => ((await read('/rest/threads')).data as { _id: string }[])[0]?._id,
  )
  expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'person' })).status).toBe(200)
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, `/conversations/${thread}`, '.reply')
    const path = `**/rest/threads/${thread}/messages`
    const reply = page.getByRole('textbox', { name: 'Your reply' })
    const failure = page.locator('.reply .failure')
    const losingResponses = async (text: string) => {
      await page.route(path, async (route) => {
        if (route.request().method() !== 'POST') return route.fallback()
        await route.fetch()
        await route.abort()
      })
      await reply.fill(text)
      await reply.press('Enter')
      await failure.waitFor()
      await page.unroute(path)
    }
    const goes = async () => {
      await reply.press('Enter')
      await failure.waitFor({ state: 'detached' })
      await eventually(async () => (await reply.inputValue()) === '')
    }
    await losingResponses('Is it you?')
    await goes()
    await losingResponses('Good mornin')
    await reply.fill('Good morning, Joana')
    await goes()
  })
  const sends = await eventually(async () => {
    const sent = await system.parley.sends('5001')
    return sent.length >= 4 ? sent : undefined
  })
  expect(sends.map(({ text }) => text).slice(1)).toEqual(['Is it you?', 'Good mornin', 'Good morning, Joana'])
})

describe('a list', () => {
  const phones = new Map<string, string>()
  /** Each thread is of a person of its own, as WhatsApp limits what is sent to one. */
  const say = (thread: string, name: string) => {
    const phone = phones.get(thread) ?? `55119888${10_000 + phones.size}`
    phones.set(thread, phone)
    return call('POST', '/api/hooks/whatsapp', {
      ...{ extId: 'line', user: { name, phone }, thread: { extId: thread } },
      ...{ answer: {}, input: 'Hello' },
    })
  }
  type Fields = Record<string, string | undefined>
  type Listed = { data: Fields[] }
  const named = (page: Page, name: string) => page.locator('.threads a', { hasText: name })

  test('shows what is new over a slow connection too, however much happens meanwhile', async () => {
    await say('talkative', 'Talkative')
    await onPage({}, async (page, context) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/conversations', '.threads a')
      await named(page, 'Talkative').waitFor()
      const network = await context.newCDPSession(page)
      const slow = { offline: false, latency: 1_500, downloadThroughput: -1, uploadThroughput: -1 }
      await network.send('Network.emulateNetworkConditions', slow)
      await say('late', 'Late')
      let isShown = false
      const flow = async () => {
        while (!isShown) await say('talkative', 'Talkative')
      }
      const shown = named(page, 'Late')
        .waitFor({ timeout: 20_000 })
        .finally(() => {
          isShown = true
        })
      await Promise.all([shown, flow()])
    })
  })

  test('that was hidden is up to date once it is seen again', async () => {
    const row = (page: Page, thread: string) => page.locator('tbody tr', { hasText: thread })
    await onPage({}, async (page, context) => {
      await signIn(page, system.url, system.garden)
      await say('before', 'Before')
      await open(page, '/messages', 'tbody tr')
      await row(page, 'before').getByText('sent', { exact: true }).waitFor()
      const setHidden = (hidden: boolean) =>
        page.evaluate((hidden) => {
          Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
          document.dispatchEvent(new Event('visibilitychange'))
        }, hidden)
      await setHidden(true)
      // This page was told of changes that another page shows.
      const other = await context.newPage()
      await open(other, '/messages', 'tbody tr')
      let loads = 0
      other.on('response', (response) => void (/\/rest\/messages(\?|$)/.test(response.url()) && loads++))
      await say('meanwhile', 'Meanwhile')
      // After the first of its events, and a second later after the others.
      await eventually(async () => loads >= 2)
      await row(other, 'meanwhile').getByText('sent', { exact: true }).waitFor()
      await setHidden(false)
      await row(page, 'meanwhile').waitFor({ timeout: 10_000 })
    })
  })

  test('goes on to follow what happens once more of it is loaded', async () => {
    const from = new Date().toISOString()
    for (let at = 0; at < 51; at++) await say(`many-${at}`, `Many ${at},`)
    // A message to each person moves their thread up once more.
    const threads = await eventually(async () => {
      const { data: messages } = (await read(`/rest/messages?channel=line&from=${from}&limit=200`)) as Listed
      const { data: threads } = (await read('/rest/threads?q=Many&limit=200')) as Listed
      const receivedAt = new Map(messages.map(({ thread, receivedAt }) => [thread, receivedAt]))
      const isMoved = ({ extId, lastAt }: Fields) => (lastAt ?? '') > (receivedAt.get(extId) ?? lastAt ?? '')
      return threads.length === 51 && threads.every(isMoved) ? threads : undefined
    })
    const { _id: oldest, user } = threads.at(-1) as Fields & { user: { name: string } }
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/conversations', '.threads a')
      expect(await named(page, user.name).count()).toBe(0)
      await page.getByRole('button', { name: 'Load more' }).click()
      await named(page, user.name).waitFor()
      await say('after-more', 'After more')
      // Others may still be ahead of it: what is left to be sent to the talkative one settles every few seconds.
      await named(page, 'After more').waitFor()
      const rows = await page
        .locator('.threads a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')))
      expect(new Set(rows).size).toBe(rows.length)
      expect(rows).toContain(`/console/conversations/${oldest}`)

      expect((await call('PATCH', `/rest/threads/${oldest}`, { handler: 'person' })).status).toBe(200)
      await named(page, user.name).getByText('with the team').waitFor()
      expect((await call('DELETE', `/rest/threads/${oldest}`)).status).toBeLessThan(300)
      await named(page, user.name).waitFor({ state: 'detached' })
    })
  })

  test('goes on to its end by itself also where its pages are shorter than what is asked for', async () => {
    for (const extId of ['short-0', 'short-1', 'short-2']) await say(extId, `Short ${extId}`)
    await eventually(async () => ((await read('/rest/threads?q=Short')).data as unknown[]).length === 3)
    await onPage({}, async (page) => {
      await signIn(page, system.url, system.garden)
      await page.route('**/rest/threads?*', (route) => {
        const asked = new URL(route.request().url())
        asked.searchParams.set('limit', '1')
        asked.searchParams.set('q', 'Short')
        return route.continue({ url: asked.href })
      })
      await open(page, '/conversations', '.threads a')
      await eventually(async () => (await page.locator('.threads li').count()) === 3)
      await page.getByRole('button', { name: 'Load more' }).waitFor({ state: 'detached' })
    })
  })

  test('of what was said leaves out what a person took over before it left', async () => {
    await say('taken', 'Taken')
    const thread = await eventually(
      async () => ((await read('/rest/threads?q=Taken')).data as { _id: string }[])[0]?._id,
    )
    await onPage({}, async (page) => {
      let isWaiting = true
      await page.route(`**/rest/threads/${thread}/messages*`, async (route) => {
        const response = await route.fetch()
        const said = (await response.json()) as { data: { message: string }[] }
        const [last] = said.data.slice(-1)
        const waiting = { ...last, _id: `${last?.message}:9`, text: 'In a moment', state: 'pending' }
        await route.fulfill({ response, json: isWaiting ? { ...said, data: [...said.data, waiting] } : said })
      })
      await signIn(page, system.url, system.garden)
      await open(page, `/conversations/${thread}`, '.bubble')
      await page.getByText('In a moment').waitFor()
      isWaiting = false
      await page.getByRole('button', { name: 'Take over' }).click()
      await page.getByText('In a moment').waitFor({ state: 'detached', timeout: 10_000 })
    })
  })
})
