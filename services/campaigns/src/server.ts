import { serve } from '@parley/shared/serve'
import { buildApp } from './app.ts'
import { config } from './config.ts'

await serve({ name: 'campaigns', config, build: buildApp })
