import { gatewayClient } from '@parley/local/demo/gateway-client'
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
  await seedShop({ gateway, simulatorUrl, modelSimulatorUrl, run, updates })
}
