import { expect, test } from '@jest/globals'
import { putScript } from '@parley/local/demo/assistant/run-assistant-demo'
import { gatewayClient } from '@parley/local/demo/gateway-client'
import { registerWebhook, simulatedNumber, writeAsPerson } from '@parley/local/simulator/client'
import { eventually } from '@parley/local/testing/service-under-test'
import { SUPPORT_LINE, shopDocuments } from '@parley/local/try/shop'
import { hearNotices } from './busy-inbox.ts'
import { consoleSystem } from './console-system.ts'
import { type Account, signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system

const REASON = 'Wants to speak to somebody'
const INES = { from: '5511988880009', name: 'Inês' }

/** A shop with an assistant, which hands over whoever asks for a person. */
async function openShop() {
  const { simulatorUrl, modelSimulatorUrl } = system.parley.system
  const gateway = gatewayClient(system.url, system.garden)
  const support = simulatedNumber(simulatorUrl, '7301')
  const salesLine = simulatedNumber(simulatorUrl, '7302')
  for (const [resource, id, document] of shopDocuments({ simulatorUrl, support, salesLine }))
    await gateway.put(resource, id, document)
  await registerWebhook(support, gateway.providerUrl(SUPPORT_LINE))
  const handOff = { name: 'handOff', arguments: { reason: REASON, message: 'Somebody will be here soon.' } }
  await putScript(modelSimulatorUrl, {
    responses: [{ when: { lastUserText: 'a person' }, calls: [handOff] }],
  })
  return { say: (text: string) => writeAsPerson(support, { ...INES, text }) }
}

async function colleague(name: string, settings: object): Promise<Account & { _id: number }> {
  const account = { ...system.garden, email: `${name.toLowerCase()}@garden.example.com` }
  const { email, password } = account
  const user = { name, email, password, phone: '+5511999990002', role: 'MEMBER' }
  const made = await system.parley.call('POST', '/rest/users', { body: user, token: account.token })
  expect(made.status).toBe(200)
  const { json } = await system.parley.call('POST', '/api/auth/login', {
    body: { username: email, password },
  })
  const token = String(json.accessToken)
  const body = { preferences: { notices: { desktop: true, ...settings } } }
  expect((await system.parley.call('PATCH', '/api/auth/me', { body, token })).status).toBe(200)
  return { ...account, token, _id: made.json._id as number }
}

async function threads() {
  const { json } = await system.parley.call('GET', '/rest/threads', { token: system.garden.token })
  return json.data as { _id: string; handler: string; unread: number }[]
}

/** Runs while somebody has two tabs open, neither of them at a conversation; `raised` are the notices that they get. */
const asSomebody = (account: Account, run: (raised: string[]) => Promise<void>) =>
  onPage({}, async (page, context) => {
    const raised: string[] = []
    await hearNotices(context, (title, text) => raised.push(`${title}: ${text}`))
    await signIn(page, system.url, account)
    await open(page, '/account', '.rows')
    await page.getByRole('checkbox', { name: 'On the desktop', checked: true }).waitFor()
    await open(await context.newPage(), '/messages', 'main')
    await run(raised)
  })

test('what an assistant hands over is reported once to each who is told of that, over all their tabs', async () => {
  const { say } = await openShop()
  const bruno = await colleague('Bruno', {})
  const carla = await colleague('Carla', { messages: false })
  const dora = await colleague('Dora', { handOvers: false })
  await asSomebody(bruno, (his) =>
    asSomebody(carla, (hers) =>
      asSomebody(dora, async (others) => {
        await say('Can I speak to a person, please?')
        await eventually(() => his.length > 0 && hers.length > 0)
        // A later event is reported later, so that a second report of the same would be there before it.
        await say('Hello?')
        await eventually(() => his.length > 1 && others.length > 0)
        const handedOver = 'Inês: Somebody will be here soon.'
        // She is told of this alone after the hand-over.
        const [thread] = await threads()
        const assigned = await system.parley.call('PATCH', `/rest/threads/${thread?._id}`, {
          ...{ token: system.garden.token, body: { assignee: carla._id } },
        })
        expect(assigned.status).toBe(200)
        await eventually(() => hers.length > 1)
        expect(his).toEqual([handedOver, 'Inês: Hello?'])
        expect(hers).toEqual([handedOver, 'Inês: Assigned to you. Hello?'])
        expect(others).toEqual(['Inês: Hello?'])
      }),
    ),
  )
  expect(await threads()).toMatchObject([{ handler: 'person', unread: 2 }])
})
