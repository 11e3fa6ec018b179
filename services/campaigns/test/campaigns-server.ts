import { type JsonRequest, type JsonResponse, sendJson } from '@parley/local/testing/send-json'
import { type Roles, serveRoles } from '@parley/local/testing/served-roles'
import { type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Parley, type Proxied, startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import type { mongo } from 'mongoose'

interface CallOptions extends JsonRequest {
  /** A role's name; WORKSPACE_ADMIN when left out. */
  role?: string
  /** 1 when left out. */
  workspace?: number
}

interface CampaignsServer {
  url: string
  database: mongo.Db
  proxies: Parley['proxies']
  others: Others
  /** Calls as an account of a workspace in a role. */
  call(method: string, path: string, options?: CallOptions): Promise<JsonResponse>
  /** The `authorization` of such a call. */
  authorization(options?: Pick<CallOptions, 'role' | 'workspace'>): string
  /** Starts a further instance; it is closed with the first one, or before. */
  startInstance(): Promise<{ url: string; close(): Promise<void> }>
  close(): Promise<void>
}

/** The real service, alone, for the tests of a file. */
export const campaignsForTests = (options: StartOptions = {}): CampaignsServer =>
  startedForTests(() => startCampaigns(options))

interface StartOptions {
  roles?: Roles
  proxies?: Proxied[]
  environment?: Record<string, string>
}

async function startCampaigns({ roles, proxies = [], environment }: StartOptions) {
  const identity = await serveRoles(roles)
  const others = await serveOthers()
  const parley = await startParley({
    services: ['campaigns'],
    proxies: { campaigns: proxies },
    environment: {
      campaigns: {
        ...atOne(identity.url),
        DISPATCHER_URL: others.url,
        WEBHOOK_URL: others.url,
        AMQP_URL: '',
        ...environment,
      },
    },
  })
  const { url } = parley.services.campaigns
  const authorization: CampaignsServer['authorization'] = ({ role, workspace } = {}) =>
    parley.authorization('gateway', 'campaigns', identity.caller(role, workspace))
  return {
    ...{ url, authorization, others },
    database: parley.database('campaigns'),
    proxies: parley.proxies,
    call: (method: string, path: string, { role, workspace, headers, ...request }: CallOptions = {}) =>
      sendJson(url + path, method, {
        ...request,
        headers: {
          authorization: authorization({ ...(role && { role }), ...(workspace && { workspace }) }),
          ...headers,
        },
      }),
    startInstance: () => parley.start('campaigns'),
    close: async () => {
      await parley.close()
      await identity.close()
      await others.close()
    },
  }
}

/** The requests to dispatcher and webhook, which know nobody here. */
interface Others extends Listening {
  asked: { path: string; body: unknown }[]
  /** The people who have opted out where sends are made. */
  withdrawn: { address: string; purpose: string }[]
  /** While it is true they are unavailable. */
  areDown: boolean
}

async function serveOthers(): Promise<Others> {
  const asked: Others['asked'] = []
  const listening = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      asked.push({ path: req.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString() || 'null') })
      res.writeHead(others.areDown ? 503 : 200, { 'content-type': 'application/json' })
      const isFind = req.url?.endsWith('/suppressions/find') ?? false
      const data = isFind ? others.withdrawn.map((one) => ({ ...one, status: 'withdrawn' })) : []
      res.end(JSON.stringify({ data, done: true }))
    })
  })
  const others: Others = { ...listening, asked, withdrawn: [], areDown: false }
  return others
}

/** Whatever it asks of another service, the one with the roles is asked. */
const atOne = (url: string) => ({
  IDENTITY_URL: url,
  CONFIGURATION_URL: url,
  DISPATCHER_URL: url,
  WEBHOOK_URL: url,
})
