import { beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { reasonInWords } from '@parley/shared/explain-message'
import type { Page } from 'playwright-core'
import { violations } from './axe.ts'
import { consoleSystem, PHONE } from './console-system.ts'
import { signIn } from './pages.ts'

const system = consoleSystem()
const { onPage, open } = system
const call = (method: string, path: string, body?: object) =>
  system.parley.call(method, path, { token: system.garden.token, ...(body && { body }) })

let bruno: { email: string; password: string; _id: number }

beforeAll(async () => {
  const { simulatorUrl } = system.parley.system
  const channel = {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId: '6101', accessToken: 'secret', apiUrl: `${simulatorUrl}/v23.0` },
  }
  expect((await call('PUT', '/rest/channels/1', channel)).status).toBe(200)
  const person = { email: 'bruno@garden.example.com', password: system.garden.password }
  const user = { ...person, name: 'Bruno Lima', phone: '+5511999990002', role: 'MEMBER' }
  const { status, json } = await call('POST', '/rest/users', user)
  expect(status).toBe(200)
  bruno = { ...person, _id: json._id as number }
})

/** Somebody writes, and waits for the team. */
async function conversationWith(name: string, phone: string): Promise<string> {
  await writes(name, phone, 'Hello')
  const thread = await eventually(async () => {
    const { json } = await call('GET', `/rest/threads?q=${name}`)
    return (json.data as { _id: string }[])[0]?._id
  })
  expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'person' })).status).toBe(200)
  return thread
}

async function writes(name: string, phone: string, input: string): Promise<void> {
  const body = { extId: 'line', user: { name, phone }, thread: { extId: name }, answer: {}, input }
  expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
}

const row = (page: Page, name: string) => page.locator('.threads a', { hasText: name })
const asAna = (run: (page: Page) => Promise<void>, options = {}) =>
  onPage(options, async (page) => {
    await signIn(page, system.url, system.garden)
    await run(page)
  })

describe('a conversation', () => {
  test('is assigned to a colleague, who finds it among their own, as anybody sees', async () => {
    const thread = await conversationWith('Alda', '5511988881001')
    await asAna(async (page) => {
      await open(page, `/conversations/${thread}`, '.conversation-sorting')
      const assignee = page.getByLabel('Assigned to').last()
      await assignee.selectOption({ label: 'Bruno Lima' })
      await row(page, 'Alda').getByText('with Bruno Lima').waitFor()
      await page.getByLabel('Assigned to').first().selectOption({ label: 'Nobody' })
      await row(page, 'Alda').waitFor({ state: 'detached' })
    })
    await onPage({}, async (page) => {
      await signIn(page, system.url, bruno)
      await open(page, '/conversations', '.threads a')
      await page.getByRole('button', { name: 'Mine' }).click()
      await row(page, 'Alda').click()
      await page.locator('.conversation-sorting').getByText('Bruno Lima (me)').waitFor({ state: 'attached' })
      expect(await page.locator('.threads a').count()).toBe(1)
    })
  })

  test('that somebody takes over is theirs', async () => {
    const thread = await conversationWith('Bela', '5511988881002')
    expect((await call('PATCH', `/rest/threads/${thread}`, { handler: 'assistant' })).status).toBe(200)
    await asAna(async (page) => {
      await open(page, `/conversations/${thread}`, '.take-over')
      await page.getByRole('button', { name: 'Take over' }).click()
      await row(page, 'Bela').getByText('with Ana Souza').waitFor()
    })
  })

  test('whose assistant could not answer is unread, with the reason in words', async () => {
    const mute = { name: 'Mute', description: '', extId: 'mute', hook: 'rpc', callback: 'rpc', config: {} }
    const made = await call('PUT', '/rest/channels/2', { ...mute, handlerUrl: 'native:agents/nobody' })
    expect(made.status).toBe(200)
    const user = { name: 'Ivo', phone: '5511988881009' }
    const body = { extId: 'mute', user, thread: { extId: 'Ivo' }, answer: {}, input: 'Where is my parcel?' }
    expect((await call('POST', '/api/hooks/whatsapp', body)).status).toBe(200)
    const unanswered = await eventually(async () => {
      const { json } = await call('GET', '/rest/threads?channel=mute&unread=true')
      return (json.data as { unreadFor: { reason: string } }[])[0]?.unreadFor
    })
    await asAna(async (page) => {
      await open(page, '/conversations', '.threads a')
      const ivo = row(page, 'Ivo')
      await ivo.getByText('no answer').waitFor()
      const words = reasonInWords(unanswered.reason)
      expect(words).not.toMatch(/\w_\w/)
      await ivo.getByText(words).waitFor()
      await ivo.getByText('1 unread').waitFor({ state: 'attached' })
    })
  })

  test('is listed with those of its channel where one is chosen', async () => {
    await asAna(async (page) => {
      await open(page, '/conversations', '.threads a')
      await row(page, 'Ivo').waitFor()
      await page.getByLabel('Channel', { exact: true }).selectOption({ label: 'mute' })
      await row(page, 'Alda').or(row(page, 'Bela')).first().waitFor({ state: 'detached' })
      await row(page, 'Ivo').waitFor()
      expect(new URL(page.url()).searchParams.get('channel')).toBe('mute')
      await page.reload()
      await row(page, 'Ivo').waitFor()
      expect(await page.locator('.threads a').count()).toBe(1)
      await page.getByLabel('Channel', { exact: true }).selectOption({ label: 'All' })
      await row(page, 'Bela').waitFor()
    })
  })

  test('has labels, which lead to the others that have them', async () => {
    const [one, other] = [
      await conversationWith('Cora', '5511988881003'),
      await conversationWith('Dina', '5511988881004'),
    ]
    expect((await call('PATCH', `/rest/threads/${other}`, { labels: ['refund'] })).status).toBe(200)
    await asAna(async (page) => {
      await open(page, `/conversations/${one}`, '.conversation-sorting')
      await page.getByRole('button', { name: '+ Label' }).click()
      await page.waitForSelector('datalist option[value=refund]', { state: 'attached' })
      await page.keyboard.type('refund')
      await page.keyboard.press('Enter')
      await row(page, 'Cora').getByText('refund').waitFor()
      await page.locator('.conversation-sorting').getByRole('link', { name: 'refund' }).click()
      await row(page, 'Dina').waitFor()
      await page.waitForFunction(() => document.querySelectorAll('.threads a').length === 2)
      const labels = page.getByLabel('Label', { exact: true })
      await labels.selectOption({ label: 'All' })
      await row(page, 'Alda').or(row(page, 'Bela')).first().waitFor()
      await labels.selectOption({ label: 'refund' })
      await page.waitForFunction(() => document.querySelectorAll('.threads a').length === 2)
      await row(page, 'Cora').click()
      await page.getByRole('button', { name: 'Remove the label refund' }).click()
      await row(page, 'Cora').waitFor({ state: 'detached' })
    })
  })

  test('is found by words of a message and by a part of the number, and goes to that message', async () => {
    await conversationWith('Otto', '5511988881010')
    await writes('Otto', '5511988881010', 'Recebi só metade do coração de chocolate')
    const said = await eventually(async () => {
      const { json } = await call('GET', '/rest/threads?q=coracao%20choco')
      return (json.data as { found?: { message: string } }[])[0]?.found?.message
    })
    for (let n = 0; n < 60; n++) await writes('Otto', '5511988881010', `And ${n}`)
    await eventually(async () => {
      const { json } = await call('GET', '/rest/threads?q=Otto')
      return (json.data as { lastMessage: string }[])[0]?.lastMessage === 'And 59'
    })
    await onPage({ bypassCSP: true }, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/conversations', '.threads a')
      const search = page.getByRole('searchbox', { name: 'Search by name, number or message' })
      await search.fill('coracao choco')
      const found = page.locator('.threads a', { hasText: 'Recebi só metade do coração' })
      await found.waitFor()
      expect(await page.locator('.threads a').count()).toBe(1)
      expect(await violations(page, 'found conversations')).toEqual([])
      await found.click()
      const bubble = page.locator(`[data-message="${said}"]`)
      await bubble.waitFor()
      await page.waitForFunction((id) => {
        const shown = document.querySelector(`[data-message="${id}"]`)?.getBoundingClientRect()
        return shown !== undefined && shown.top >= 0 && shown.bottom <= innerHeight
      }, said)
      await search.fill('8881010')
      await page.waitForFunction(() => document.querySelector('.threads .quiet')?.textContent === 'And 59')
      expect(await page.locator('.threads a').count()).toBe(1)
    })
  })

  test('in which only we wrote is out of the way, until somebody wants to see it or searches', async () => {
    const paula = { name: 'Paula', phone: '5511988881011' }
    const answer = { message: 'Your order has left' }
    const body = { extId: 'line', user: paula, thread: { extId: 'Paula' }, answer }
    expect((await call('POST', '/rest/messages', body)).status).toBe(200)
    await eventually(async () => {
      const { json } = await call('GET', '/rest/threads?wrote=false')
      return (json.data as { user: { name: string } }[])[0]?.user.name === 'Paula'
    })
    await asAna(async (page) => {
      await open(page, '/conversations', '.threads a')
      await row(page, 'Alda').waitFor()
      expect(await row(page, 'Paula').count()).toBe(0)
      const silent = page.getByLabel('Also where the person never wrote')
      await silent.check()
      await row(page, 'Paula').waitFor()
      await silent.uncheck()
      await row(page, 'Paula').waitFor({ state: 'detached' })
      await page.getByRole('searchbox').fill('Paula')
      await row(page, 'Paula').waitFor()
      await writes('Paula', paula.phone, 'Thank you')
      await page.getByRole('searchbox').fill('')
      await row(page, 'Paula').getByText('Thank you').waitFor()
    })
  })

  test('that is resolved is out of the way, can be put back, and comes back when the person writes', async () => {
    const thread = await conversationWith('Edna', '5511988881005')
    await asAna(async (page) => {
      await open(page, `/conversations/${thread}`, '.conversation-sorting')
      await row(page, 'Edna').waitFor()
      await page.getByRole('button', { name: 'Resolve' }).click()
      await row(page, 'Edna').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Undo' }).click()
      await row(page, 'Edna').waitFor()
      await page.getByRole('button', { name: 'Resolve' }).click()
      await row(page, 'Edna').waitFor({ state: 'detached' })
      await page.getByLabel('Status').selectOption({ label: 'Resolved' })
      await row(page, 'Edna').getByText('resolved').waitFor()
      await page.getByLabel('Status').selectOption({ label: 'Open' })
      await writes('Edna', '5511988881005', 'One more thing')
      await row(page, 'Edna').getByText('One more thing').waitFor()
    })
  })

  test('that is snoozed is out of the way until its time, on a phone as well', async () => {
    const thread = await conversationWith('Fani', '5511988881006')
    await asAna(
      async (page) => {
        await open(page, `/conversations/${thread}`, '.conversation-sorting')
        await page.getByLabel('Snooze', { exact: true }).selectOption({ label: 'Until tomorrow' })
        await page.getByText('Snoozed until').waitFor()
        const { json } = await call('GET', `/rest/threads/${thread}`)
        const until = new Date(json.snoozedUntil as string)
        expect(until.getTime() - Date.now()).toBeGreaterThan(0)
        await page.getByRole('link', { name: '← Conversations' }).click()
        await row(page, 'Cora').waitFor()
        await row(page, 'Fani').waitFor({ state: 'detached' })
        await page.getByLabel('Status').selectOption({ label: 'Snoozed' })
        await row(page, 'Fani').click()
        await page.getByRole('button', { name: 'Reopen' }).click()
        await page.getByLabel('Snooze', { exact: true }).selectOption({ label: 'Another time…' })
        await page.getByLabel('Snooze until').fill('2020-01-01T10:00')
        await page.getByRole('button', { name: 'Snooze', exact: true }).click()
        expect(
          await page.getByLabel('Snooze until').evaluate((e: HTMLInputElement) => e.validity.valid),
        ).toBe(false)
      },
      { viewport: PHONE },
    )
  })

  test('has notes of the team, which the person never gets, until somebody deletes them', async () => {
    const thread = await conversationWith('Gaia', '5511988881007')
    await asAna(async (page) => {
      await open(page, `/conversations/${thread}`, '.reply')
      await page.getByRole('button', { name: 'Note', exact: true }).click()
      const note = page.getByRole('textbox', { name: 'A note for the team' })
      await note.waitFor()
      await page.keyboard.type('Half a note')
      await page.reload()
      await page.getByRole('button', { name: 'Note', exact: true }).click()
      expect(await note.inputValue()).toBe('Half a note')
      await note.fill('She is a regular')
      await note.press('Enter')
      await page.locator('.note-bubble', { hasText: 'She is a regular' }).waitFor()
      const { json } = await call('GET', `/rest/threads/${thread}/messages`)
      expect(JSON.stringify(json)).not.toContain('a regular')
    })
    await onPage({}, async (page) => {
      await signIn(page, system.url, bruno)
      await open(page, `/conversations/${thread}`, '.note-bubble')
      await page.getByText('Note of Ana Souza, for the team only').waitFor()
      await page.getByRole('button', { name: /^Delete the note/ }).click()
      await page.locator('.note-bubble').waitFor({ state: 'detached' })
    })
  })

  test('is replied to by a canned reply, by / and the beginning of its name, with the names filled in', async () => {
    const thread = await conversationWith('Hilda', '5511988881008')
    await asAna(async (page) => {
      await open(page, '/assistants/replies/new', 'form')
      await page.getByLabel('Name', { exact: true }).fill('hours')
      await page.getByLabel('Text', { exact: true }).fill('Dear {{name}}, we open at 9. {{me}}')
      await page.getByRole('button', { name: /Create|Save/ }).click()
      await eventually(async () => ((await call('GET', '/rest/replies')).json.data as object[]).length === 1)
      const other = { name: 'house', text: 'We deliver to your house' }
      expect((await call('POST', '/rest/replies', other)).status).toBe(200)
      await open(page, `/conversations/${thread}`, '.reply')
      const reply = page.getByRole('textbox', { name: 'Your reply' })
      await reply.pressSequentially('/ho')
      const offered = page.getByRole('listbox', { name: 'Canned replies' }).getByRole('option')
      await offered.first().waitFor()
      expect(await offered.count()).toBe(2)
      for (const key of ['ArrowDown', 'ArrowUp', 'Enter']) await reply.press(key)
      await page.getByRole('listbox', { name: 'Canned replies' }).waitFor({ state: 'detached' })
      expect(await reply.inputValue()).toBe('Dear Hilda, we open at 9. Ana Souza')
      await reply.press('Enter')
      await page.locator('.said.team', { hasText: 'Dear Hilda, we open at 9. Ana Souza' }).waitFor()
      // An address, or a slash that nobody means so, offers nothing and is sent.
      await reply.pressSequentially('9/18 or https://example.com/ho')
      expect(await offered.count()).toBe(0)
    })
  })
})

describe('many conversations', () => {
  const names = ['Ines', 'Iris', 'Ivone']
  const toolbar = (page: Page) => page.getByRole('toolbar', { name: 'What is done with those selected' })
  const select = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}` })
  const statesOf = async () => {
    const all = await Promise.all(names.map((name) => call('GET', `/rest/threads?q=${name}`)))
    return all.map(
      ({ json }) => (json.data as { status: string; assignee?: { name: string }; unread: number }[])[0],
    )
  }

  test('are assigned, labelled, read and resolved at once, and put back', async () => {
    for (const [at, name] of names.entries()) await conversationWith(name, `551198888200${at}`)
    await writes('Ines', '5511988882000', 'One more thing')
    await onPage({ bypassCSP: true }, async (page) => {
      await signIn(page, system.url, system.garden)
      await open(page, '/conversations', '.threads a')
      for (const name of names) await row(page, name).waitFor()
      await page.getByRole('button', { name: 'Select', exact: true }).click()
      // With Shift those between are selected, too.
      const [first, last] = await page.evaluate(() => {
        const all = [...document.querySelectorAll('.threads .thread-name')].map(
          ({ textContent }) => textContent,
        )
        const at = ['Ines', 'Iris', 'Ivone'].map((name) => all.indexOf(name)).sort()
        return [all[at[0] ?? 0] ?? '', all[at[2] ?? 0] ?? '']
      })
      await select(page, String(first)).click()
      await select(page, String(last)).click({ modifiers: ['Shift'] })
      await toolbar(page).getByText('3 selected').waitFor()
      expect(await violations(page, 'selected conversations')).toEqual([])
      await toolbar(page).getByLabel('Assign to').selectOption({ label: 'Bruno Lima' })
      await page.getByText('3 conversations are assigned to Bruno Lima.').waitFor()
      expect((await statesOf()).map((one) => one?.assignee?.name)).toEqual(names.map(() => 'Bruno Lima'))
      await page.getByRole('button', { name: 'Undo' }).click()
      await eventually(async () => (await statesOf()).every((one) => one?.assignee === undefined))

      // By the keyboard alone.
      await page.locator('h1').click()
      for (let move = 0; move < 50 && !(await focusedRow(page)).includes('Ines'); move++)
        await page.keyboard.press('j')
      await page.keyboard.press('x')
      await toolbar(page).getByText('1 selected').waitFor()
      await toolbar(page).getByRole('button', { name: 'Mark as read' }).click()
      await page.getByText('1 conversation is read.').waitFor()
      expect((await statesOf())[0]?.unread).toBe(0)

      await page.getByRole('button', { name: 'Select', exact: true }).click()
      for (const name of names) await select(page, name).click()
      await toolbar(page).getByLabel('A label for all of them').fill('spring')
      await toolbar(page).getByRole('button', { name: 'Add' }).click()
      await row(page, 'Iris').getByText('spring').waitFor()
      await page.getByRole('button', { name: 'Select', exact: true }).click()
      for (const name of names) await select(page, name).click()
      await toolbar(page).getByRole('button', { name: 'Resolve' }).click()
      await page.getByText('3 conversations are resolved.').waitFor()
      for (const name of names) await row(page, name).waitFor({ state: 'detached' })
      expect((await statesOf()).map((one) => one?.status)).toEqual(names.map(() => 'resolved'))
      await page.getByRole('button', { name: 'Undo' }).click()
      for (const name of names) await row(page, name).waitFor()
    })
  })

  test('say what could not be done, and stay selected', async () => {
    await asAna(async (page) => {
      await open(page, '/conversations', '.threads a')
      await page.getByRole('button', { name: 'Select', exact: true }).click()
      for (const name of ['Ines', 'Iris']) await select(page, name).click()
      let refused = 0
      await page.route('**/rest/threads/*', (route) =>
        route.request().method() === 'PATCH' && refused++ === 0
          ? route.fulfill({ status: 403, json: { code: 'forbidden', title: 'The role does not allow this' } })
          : route.continue(),
      )
      await toolbar(page).getByRole('button', { name: 'Reopen' }).click()
      await page.getByText('Others are not: The role does not allow this').waitFor()
      await toolbar(page).getByText('2 selected').waitFor()
      await page.keyboard.press('Escape')
      await toolbar(page).waitFor({ state: 'detached' })
    })
  })
})

const focusedRow = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.closest('[data-row]')?.textContent ?? '')

test('the list says how many there are, also of those that are not loaded yet, and of what is chosen', async () => {
  for (let person = 0; person < 3; person++) await conversationWith(`Rita${person}`, `551198888200${person}`)
  await asAna(async (page) => {
    const { json } = await call('GET', '/rest/threads?total=true&status=open&wrote=true')
    await open(page, '/conversations', '.threads a')
    await page
      .getByText(`${(json.total as { count: number }).count} conversations`, { exact: true })
      .waitFor()
    await page.getByRole('searchbox').fill('Rita1')
    await page.getByText('1 conversation', { exact: true }).waitFor()
    // A page of one in place of fifty, and no other.
    await page.route('**/rest/threads?*', (route) => {
      const url = new URL(route.request().url())
      if (url.searchParams.has('after')) return route.abort()
      url.searchParams.set('limit', '1')
      return route.continue({ url: url.href })
    })
    await open(page, '/conversations?status=all&handler=person', '.threads a')
    await page.getByText(/^\d+ conversations$/).waitFor()
    expect(await page.locator('.threads a').count()).toBe(1)
  })
})
