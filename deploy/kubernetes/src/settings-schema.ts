import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { baseConfig } from '@parley/shared/config'
import { SERVICES } from '@parley/shared/internal-token'
import type { z } from 'zod'
import { environmentOf } from '../../../docs/environment-page.ts'
import { CHART } from './render.ts'

const FILE = join(CHART, 'values.schema.json')
/** Settings that the chart makes itself. */
const FIXED =
  /^(NODE_ENV|HOST|PORT|METRICS_PORT|INSTANCE_NAME|TLS_(CERT|KEY|CA)_FILE|PUBLIC_URL|BASE_DOMAIN|(IDENTITY|WEBHOOK|CONFIGURATION|DISPATCHER|CAMPAIGNS|GATEWAY)_URL)$/
/** Settings that are in Secrets only. */
const SECRET =
  /^(SERVICE_KEY|SERVICE_JWKS|MONGO_URL|AMQP_URL|REDIS_URL|PEPPERS|KEY_ENCRYPTION_KEYS|SIGNING_SECRET|SECRET_KEYS|MODEL_API_KEY|SMTP_URL)$/

interface ValuesSchema {
  $defs: Record<string, unknown>
}

export const readSchema = (): ValuesSchema => JSON.parse(readFileSync(FILE, 'utf8'))

/** The schema of values.yaml, with the settings that each process takes now. */
export function withSettings(schema: ValuesSchema): ValuesSchema {
  const own = SERVICES.map((name) => [`${name}Settings`, settingsOf(environmentOf(name))])
  const $defs = { ...schema.$defs, commonSettings: settingsOf(baseConfig), ...Object.fromEntries(own) }
  return { ...schema, $defs }
}

export function writeSchema(schema: ValuesSchema): void {
  writeFileSync(FILE, `${JSON.stringify(schema, null, 2)}\n`)
}

function settingsOf(environment: z.ZodRawShape) {
  const names = Object.entries(environment).filter(([key]) => !FIXED.test(key) && !SECRET.test(key))
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      names.map(([key, schema]) => [
        key,
        { type: ['string', 'number'], description: (schema as z.ZodType).description },
      ]),
    ),
  }
}
