import { serve } from '@parley/shared/serve'
import { buildApp } from './app.ts'
import { gatewayConfig } from './config.ts'

await serve({ name: 'gateway', config: gatewayConfig, build: buildApp })
