import { type GatewayClient, gatewayClient } from '@parley/local/demo/gateway-client'
import { configOf, registerWebhook, simulatedNumber } from '@parley/local/simulator/client'
import { seedShop } from '@parley/local/try/seed'
import type { Account } from './pages.ts'

interface Places {
  gatewayUrl: string
  simulatorUrl: string
  modelSimulatorUrl: string
}

/** The workspace that `npm run try` makes, with fewer messages; one of its subscriptions has an endpoint that is not there. */
export async function seed(
  { gatewayUrl, simulatorUrl, modelSimulatorUrl }: Places,
  account: Account,
  { updates }: { updates: number },
): Promise<void> {
  const gateway = gatewayClient(gatewayUrl, account)
  const run = String(Date.now())
  await gateway.put('subscriptions', 1, {
    ...{ name: 'Warehouse', url: `${simulatorUrl}/nothing-there` },
    events: ['message.sent', 'message.dead', 'thread.handed_off'],
  })
  await gateway.put('configs', 1, {
    ...{ name: 'greeting', owner: 1, ownerType: 'assistant', value: { text: 'Hello!', apiKey: 'secret' } },
  })
  await gateway.put('replies', 1, { name: 'hours', text: 'We are here from 9 to 18, {{name}}.' })
  await seedAudience(gateway, { simulatorUrl, run })
  await seedShop({ gateway, simulatorUrl, modelSimulatorUrl, run, updates })
}

const LINE = 'offers-line'
const REGULARS = ['João Lima', 'Carla Dias', 'Rafael Melo', 'Pedro Alves'].map((name, at) => ({
  ...{ name, addresses: [`phone:55119888877${String(at + 1).padStart(2, '0')}`] },
  ...{ language: 'pt_BR', timeZone: 'America/Sao_Paulo' },
  ...{ tags: at % 2 === 0 ? ['regular', 'plants'] : ['regular'] },
  attributes: { city: at % 2 === 0 ? 'Santos' : 'Lisboa', purchases: 3 + at },
}))

/** A number whose account has templates, and people with what is known of them. */
async function seedAudience(
  gateway: Pick<GatewayClient, 'call' | 'put' | 'providerUrl'>,
  { simulatorUrl, run }: { simulatorUrl: string; run: string },
): Promise<void> {
  const number = simulatedNumber(simulatorUrl, `${run}3`)
  await gateway.put('channels', 3, {
    ...{ name: 'Offers', description: '', extId: LINE, hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { ...configOf(number), businessAccountId: `account-${run}` },
  })
  await registerWebhook(number, gateway.providerUrl(LINE))
  await gateway.call('POST', '/rest/templates/sync')
  await gateway.call('PUT', '/rest/people/attributes', {
    attributes: [
      { name: 'city', type: 'text' },
      { name: 'purchases', type: 'number' },
    ],
  })
  for (const person of REGULARS) {
    const { _id } = (await gateway.call('POST', '/rest/people', person)) as { _id: string }
    const marketing = { status: 'granted', text: 'I would like to get offers by message.' }
    await gateway.call('PATCH', `/rest/people/${_id}`, { consent: { marketing } })
  }
  await gateway.call('PUT', '/rest/segments/regulars', {
    ...{ name: 'Regulars who agreed' },
    filter: { all: [{ tag: 'regular' }, { consent: 'marketing', is: 'granted' }] },
  })
  const campaign = {
    ...{ channel: 3, template: { name: 'welcome_offer', language: 'pt_BR' } },
    variables: [{ attribute: 'name', fallback: 'cliente' }, { text: '20%' }],
  }
  const spring = { ...campaign, name: 'Spring offers', audience: { everybody: true } }
  const { _id } = (await gateway.call('POST', '/rest/campaigns', spring)) as { _id: string }
  await gateway.call('POST', `/rest/campaigns/${_id}/schedule`)
  await gateway.call('POST', '/rest/campaigns', {
    ...{ ...campaign, name: 'Black Friday', audience: { segment: 'regulars' }, holdoutPercent: 5 },
    schedule: { at: '2030-11-29T09:00:00', timeZone: 'America/Sao_Paulo', inEachTimeZone: true },
  })
}
