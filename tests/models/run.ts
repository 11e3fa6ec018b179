import { deepStrictEqual, match, ok } from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startOwnSystem } from '../lab/system/own-system.ts'
import { registerWorkspace } from '../lab/system/workspace.ts'
import { fetchPackages } from './fetch-packages.ts'
import { ForeignServers } from './foreign-servers.ts'
import { Tried } from './try-assistants.ts'

const DIRECTORY = new URL('../../.local/models/', import.meta.url).pathname
const NOTE = 'a note that is read'
const say = (line: string) => console.error(line)

const packages = await fetchPackages(DIRECTORY, say)
const files = join(DIRECTORY, 'files')
await rm(files, { recursive: true, force: true })
await mkdir(files, { recursive: true })
await writeFile(join(files, 'note.txt'), NOTE)
const servers = new ForeignServers(packages, files)
const own = await startOwnSystem({ instances: {}, say })
const { gatewayUrl } = own.system
const tried = new Tried(await registerWorkspace(gatewayUrl, 'models'), gatewayUrl)
const mcp = (moduleUrl: string) => tried.withAction({ specType: 'mcp', moduleUrl })

/** The trials by the server's name; each returns what it has seen. */
const TRIALS: Record<string, () => Promise<string>> = {
  async '@modelcontextprotocol/server-everything'() {
    const id = await mcp((await servers.everything()).url)
    const tools = await tried.tools(id)
    match(await tried.called(id, 'echo', { message: 'hello' }), /hello/)
    match(await tried.called(id, 'get-sum', { a: 2, b: 40 }), /42/)
    await tried.called(id, 'trigger-long-running-operation', { duration: 18, steps: 9 })
    return `${tools.length} tools; 3 called, one of them for 18 s with progress`
  },
  async '@modelcontextprotocol/server-memory'() {
    const id = await mcp((await servers.overStdio('mcp-server-memory')).url)
    const tools = await tried.tools(id)
    const entity = { name: 'Ana', entityType: 'person', observations: ['likes tea'] }
    await tried.called(id, 'create_entities', { entities: [entity] })
    match(await tried.called(id, 'read_graph', {}), /likes tea/)
    return `${tools.length} tools; what one stored, another read in a session of its own`
  },
  async '@modelcontextprotocol/server-filesystem'() {
    const id = await mcp((await servers.overStdio('mcp-server-filesystem', files)).url)
    const tools = await tried.tools(id)
    match(await tried.called(id, 'read_text_file', { path: join(files, 'note.txt') }), new RegExp(NOTE))
    return `${tools.length} tools; a file read`
  },
  async '@stoplight/prism-cli with the Petstore'() {
    const { spec } = await servers.petstore()
    const id = await tried.withAction({ specType: 'openapi3-yaml', moduleUrl: 'native:request', spec })
    await tried.giveCredentials(id, { token: 'of somebody', apiKey: 'a key' })
    const tools = await tried.tools(id)
    await tried.called(id, 'addPet', { name: 'Rex', photoUrls: ['https://example.com/rex.png'] })
    await tried.called(id, 'findPetsByStatus', { status: 'sold' })
    return `${tools.length} tools; what was sent is as its spec says`
  },
  async '@dwmkerr/mock-llm'() {
    const { url } = await servers.mockLlm()
    const { text } = await tried.said(await tried.withModel(`${url}/v1`), 'Good morning')
    match(text, /Good morning/)
    const id = await mcp(`${url}/mcp`)
    await tried.connect(id)
    const tools = await tried.tools(id)
    ok(tools.length > 0)
    return `answered; ${tools.length} tools of its MCP server after consent`
  },
  async 'llama.cpp with SmolLM2-135M'() {
    const { llama } = packages
    if ('missing' in llama) throw new Error(llama.missing)
    const { url } = await servers.llama(llama)
    const id = await tried.withModel(`${url}/v1`, { maxOutputTokens: 60, temperature: 0 })
    const { text, inputTokens, outputTokens } = await tried.said(id, 'Say hello in one short sentence.')
    deepStrictEqual([inputTokens > 0, outputTokens > 0], [true, true])
    return `${JSON.stringify(text.slice(0, 60))}, ${inputTokens} + ${outputTokens} tokens`
  },
}

try {
  const chosen = process.argv.slice(2)
  const trials = Object.entries(TRIALS).filter(
    ([name]) => chosen.length === 0 || chosen.some((part) => name.includes(part)),
  )
  console.log('| server | what was seen |\n| --- | --- |')
  for (const [name, run] of trials) {
    const seen = await run().catch((error: Error) => {
      process.exitCode = 1
      return `FAILED: ${error.message.replaceAll(/\s+/g, ' ').slice(0, 500)}`
    })
    console.log(`| ${name} | ${seen} |`)
  }
} finally {
  await servers.stop()
  await own.stop()
}
