import type { OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js'
import { listen } from '@parley/local/testing/service-under-test'
import { speaking, text, tool } from './agents/mcp-server.ts'

/**
 * The MCP project's own authorization server, with refresh tokens, and an MCP server at `/mcp` that takes its tokens
 * alone.
 */
export interface ConsentServer {
  url: string
  /** The requests for tokens. */
  asked: URLSearchParams[]
  /** True while it refuses refresh tokens. */
  isRevoked: boolean
  close(): Promise<void>
}

/** Its tool is `work`. */
export async function startConsentServer(): Promise<ConsentServer> {
  const { default: express } = await import('express')
  const { DemoInMemoryAuthProvider } = await import(
    '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js'
  )
  const { mcpAuthRouter } = await import('@modelcontextprotocol/sdk/server/auth/router.js')
  let refreshToken = 0
  class Provider extends DemoInMemoryAuthProvider {
    override async exchangeAuthorizationCode(
      ...given: Parameters<OAuthServerProvider['exchangeAuthorizationCode']>
    ) {
      const [client, code, verifier] = given
      const tokens = await super.exchangeAuthorizationCode(client, code, verifier)
      return { ...tokens, refresh_token: `rt-${++refreshToken}` }
    }
    override async exchangeRefreshToken(
      ...[client, given]: Parameters<OAuthServerProvider['exchangeRefreshToken']>
    ) {
      const { InvalidGrantError } = await import('@modelcontextprotocol/sdk/server/auth/errors.js')
      if (server.isRevoked || given !== `rt-${refreshToken}`) throw new InvalidGrantError('revoked')
      const token = `renewed-${refreshToken}`
      const expiresAt = Date.now() + 3_600_000
      this.#tokens.set(token, { token, clientId: client.client_id, scopes: [], expiresAt, type: 'access' })
      return {
        access_token: token,
        token_type: 'bearer',
        expires_in: 3_600,
        refresh_token: `rt-${++refreshToken}`,
      }
    }
    get #tokens() {
      return (this as unknown as { tokens: Map<string, object> }).tokens
    }
  }
  const provider = new Provider()
  const speak = speaking(
    () => ({ tools: [tool('work')] }),
    () => text('done'),
  )
  const app = express()
  const { url, close } = await listen(app)
  const server: ConsentServer = { url, asked: [], isRevoked: false, close }
  app.use((req, _res, next) => {
    if (req.path !== '/token') return next()
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => server.asked.push(new URLSearchParams(Buffer.concat(chunks).toString())))
    next()
  })
  const issuerUrl = new URL(url)
  const resourceServerUrl = new URL('/mcp', url)
  app.use(mcpAuthRouter({ provider, issuerUrl, resourceServerUrl, scopesSupported: ['orders'] }))
  app.all('/mcp', (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', async () => {
      const token = req.headers.authorization?.replace('Bearer ', '') ?? ''
      const isKnown = await provider.verifyAccessToken(token).then(
        () => true,
        () => false,
      )
      if (!isKnown) return void res.writeHead(401).end()
      const body = Buffer.concat(chunks).toString()
      const call = { method: req.method, path: req.path, headers: req.headers, text: body }
      speak({ ...call, json: body === '' ? undefined : JSON.parse(body) }, res)
    })
  })
  return server
}

/** As a browser of somebody who agrees: what it comes back with, and where to. */
export async function agree(url: string): Promise<{ to: string; state: string; code: string }> {
  const { headers } = await fetch(url, { redirect: 'manual' })
  const { origin, pathname, searchParams } = new URL(headers.get('location') ?? '')
  const [state, code] = ['state', 'code'].map((name) => searchParams.get(name) ?? '') as [string, string]
  return { to: origin + pathname, state, code }
}
