import { buildApp as buildCampaigns } from '@parley/campaigns/app'
import { config as campaignsConfig } from '@parley/campaigns/config'
import { buildApp as buildConfiguration } from '@parley/configuration/app'
import { config as configurationConfig } from '@parley/configuration/config'
import { buildApp as buildDispatcher } from '@parley/dispatcher/app'
import { config as dispatcherConfig } from '@parley/dispatcher/config'
import { buildApp as buildGateway } from '@parley/gateway/app'
import { gatewayConfig } from '@parley/gateway/config'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import { type Hosted, hosted } from '@parley/shared/serve'
import { buildApp as buildWebhook } from '@parley/webhook/app'
import { config as webhookConfig } from '@parley/webhook/config'

/** All services, as one process hosts them. */
export const services: readonly Hosted[] = [
  hosted({ name: 'gateway', config: gatewayConfig, build: buildGateway }),
  hosted({ name: 'identity', config: identityConfig, build: buildIdentity }),
  hosted({ name: 'webhook', config: webhookConfig, build: buildWebhook }),
  hosted({ name: 'configuration', config: configurationConfig, build: buildConfiguration }),
  hosted({ name: 'dispatcher', config: dispatcherConfig, build: buildDispatcher }),
  hosted({ name: 'campaigns', config: campaignsConfig, build: buildCampaigns }),
]
