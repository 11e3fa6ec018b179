import { expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { RULED_RESOURCES } from '@parley/shared/configuration-resources'
import { consoleSystem } from './console-system.ts'
import { signIn } from './pages.ts'

const step = { name: 'Ask', description: '', instructions: '', submitWhen: '' }
const workflow = { name: 'Onboard', description: '', steps: [1] }
const task = { workflow: 1, currentStep: 1, status: 'active', name: 'Onboard', description: '', context: {} }
const channel = {
  ...{ name: 'Line', description: '', extId: 'line', hook: 'rpc', callback: 'rpc', config: {} },
  handlerUrl: 'native:agents/echo',
}

const system = consoleSystem({
  async prepare({ parley, garden: { token } }) {
    const documents = { 'channels/1': channel, 'steps/1': step, 'workflows/1': workflow, 'tasks/1': task }
    for (const [path, body] of Object.entries(documents)) {
      const { status, text } = await parley.call('PUT', `/rest/${path}`, { body, token })
      expect([path, status, text]).toEqual([path, 200, text])
    }
  },
})
const { onPage, open } = system

test('the signing secret is rotated only once the present one is known, which then stays beside the new one', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    const listed = Promise.withResolvers<void>()
    await page.route('**/rest/hooks*', async (route) => {
      await listed.promise
      await route.continue()
    })
    await open(page, '/channels/1', 'form')
    const rotate = page.getByRole('button', { name: 'Rotate the signing secret' })
    expect(await rotate.isDisabled()).toBe(true)
    listed.resolve()
    await rotate.click()
    await page.getByText('New signing secret').waitFor()
  })
  const secrets = await eventually(async () => {
    const { json } = await system.parley.call('GET', '/rest/channels/1', { token: system.garden.token })
    return (json.config as { signingSecrets?: string[] }).signingSecrets
  })
  expect(secrets).toEqual([expect.stringMatching(/^whsec_/), expect.any(String)])
})

test('a workflow shows its open tasks, however many ended before them', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await page.route('**/rest/tasks*', (route) => {
      if (new URL(route.request().url()).searchParams.has('status')) return route.continue()
      const data = Array.from({ length: 200 }, (_, at) => ({ ...task, _id: at, status: 'completed' }))
      return route.fulfill({ json: { data, next: 'more' } })
    })
    await open(page, '/assistants/workflows/1', '.graph')
    await page.getByText('1 open task').waitFor()
    await page.getByText('1 here').waitFor()
  })
})

test('a role is explained for every resource that rules are about', async () => {
  await onPage({}, async (page) => {
    await signIn(page, system.url, system.garden)
    await open(page, '/team/roles', 'tbody tr')
    await page.getByRole('link', { name: 'Viewer' }).click()
    const resources = page.getByRole('combobox', { name: 'Resource', exact: true })
    await resources.waitFor()
    const options = resources.getByRole('option')
    const values = options.evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value))
    expect(await values).toEqual(RULED_RESOURCES)
    // Each has a name in words.
    expect(await options.allTextContents()).toEqual(
      RULED_RESOURCES.map(() => expect.stringMatching(/^[A-Z]/)),
    )
    const explained = page.waitForResponse(
      (response) => response.request().postDataJSON()?.resource === 'threads' && response.ok(),
    )
    await resources.selectOption('threads')
    await explained
  })
})
