import { CHANNEL_EXT_ID } from './demo-plan.ts'
import type { GatewayClient } from './gateway-client.ts'
import { registerWebhook } from './simulator-client.ts'

/**
 * Configures a channel that sends to the simulator under a phone number of its own, and configures
 * the simulator to post the statuses of its sends there.
 */
export async function connectLine(options: {
  gateway: Pick<GatewayClient, 'putChannel' | 'providerUrl'>
  phoneNumberId: string
  simulatorUrl: string
}): Promise<void> {
  const { gateway, phoneNumberId, simulatorUrl } = options
  const appSecret = crypto.randomUUID()
  const apiUrl = new URL('/v23.0', simulatorUrl).href
  await gateway.putChannel({
    name: 'Demo',
    description: 'Sends to the bundled WhatsApp simulator',
    extId: CHANNEL_EXT_ID,
    hook: 'whatsapp',
    callback: 'whatsapp',
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId, accessToken: 'demo', apiUrl, appSecret, verifyToken: crypto.randomUUID() },
  })
  await registerWebhook(simulatorUrl, { phoneNumberId, url: gateway.providerUrl(CHANNEL_EXT_ID), appSecret })
}
