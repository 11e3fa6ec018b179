import { serve } from '@parley/shared/serve'
import { buildApp } from './app.ts'
import { identityConfig } from './config.ts'

await serve({ name: 'identity', config: identityConfig, build: buildApp })
