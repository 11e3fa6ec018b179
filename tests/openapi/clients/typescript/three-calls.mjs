// Logs in, creates a step and lists it, by the client that @hey-api/openapi-ts generated beside it.
import { client } from './client/client.gen.ts'
import { createStep, listSteps, login } from './client/sdk.gen.ts'

const { PARLEY_URL, PARLEY_USER, PARLEY_PASSWORD } = process.env
client.setConfig({ baseUrl: PARLEY_URL, throwOnError: true })
const { data: session } = await login({ body: { username: PARLEY_USER, password: PARLEY_PASSWORD } })

client.setConfig({ auth: () => session.accessToken })
const step = {
  ...{ name: 'By TypeScript', description: 'Ask for the address' },
  ...{ instructions: 'Be polite', submitWhen: 'It is known' },
}
const { data: created } = await createStep({ body: step })
const { data: page } = await listSteps({ query: { name: step.name } })
console.log(JSON.stringify({ created: created._id, listed: page.data.map(({ _id }) => _id) }))
