import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { buildModelSimulator } from '@parley/local/model-simulator/app'
import { type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'

let simulator: Listening
beforeAll(async () => {
  simulator = await listen(buildModelSimulator())
})
afterAll(() => simulator.close())
beforeEach(async () => {
  await call('DELETE', '/simulator/script')
  await call('DELETE', '/simulator/requests')
})

const send = (method: string, path: string, body?: object) =>
  fetch(simulator.url + path, {
    method,
    headers: { 'content-type': 'application/json', authorization: 'Bearer any-key' },
    ...(body && { body: JSON.stringify(body) }),
  })
const call = async (method: string, path: string, body?: object) => {
  const response = await send(method, path, body)
  return { status: response.status, body: (await response.json()) as Parsed }
}
const tool = (name: string, parameters: object = { type: 'object' }) => ({
  type: 'function',
  function: { name, description: '', parameters },
})
const person = (content: string) => ({ role: 'user', content })
const chat = async (messages: object[], more: object = {}) => {
  const { body } = await call('POST', '/v1/chat/completions', { model: 'any', messages, ...more })
  return body.choices[0]
}
const callOf = (choice: Parsed) => {
  const [{ id, function: called }] = choice.message.tool_calls
  return { id, name: called.name, args: JSON.parse(called.arguments) }
}

describe('by the rules, the simulated model', () => {
  test('repeats what was said, and counts tokens', async () => {
    const { body } = await call('POST', '/v1/chat/completions', { model: 'any', messages: [person('Hello')] })
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'any',
      choices: [{ message: { role: 'assistant', content: 'You said: Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 2, completion_tokens: 4, total_tokens: 6 },
    })
  })

  test('calls the tools that the person mentions, one after the other, then says what they said', async () => {
    const tools = [tool('second'), tool('first'), tool('fir')]
    const messages: object[] = [person('Use first {"a":{"b":1}} and then second.')]
    const first = callOf(await chat(messages, { tools }))
    expect(first).toMatchObject({ name: 'first', args: { a: { b: 1 } } })
    const results = (id: string, name: string, content: string) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content },
    ]
    messages.push(...results(first.id, 'first', 'one'))
    const second = callOf(await chat(messages, { tools }))
    expect(second.name).toBe('second')
    messages.push(...results(second.id, 'second', 'two'))
    expect((await chat(messages, { tools })).message.content).toBe('The tools said: one; two')
  })

  test('makes up arguments that fit the schema of the tool', async () => {
    const properties = {
      n: { type: 'integer' },
      kind: { enum: ['x', 'y'] },
      who: { type: 'object', required: ['name'] },
    }
    const parameters = { type: 'object', properties, required: ['n', 'kind', 'who'] }
    const { args } = callOf(await chat([person('do it')], { tools: [tool('it', parameters)] }))
    expect(args).toEqual({ n: 1, kind: 'x', who: { name: 'do it' } })
  })

  test('submits when the person quotes the condition of the step', async () => {
    const system = {
      role: 'system',
      content: 'The step is complete, and you call the tool submit, when: the name is known',
    }
    const tools = [tool('submit')]
    const text = 'Now The Name Is Known.'
    expect(callOf(await chat([system, person(text)], { tools }))).toMatchObject({
      name: 'submit',
      args: { said: text },
    })
    expect((await chat([system, person('Not yet')], { tools })).message.content).toBe('You said: Not yet')
  })

  test('does not take data for what a person wrote', async () => {
    const choice = await chat([person('Hi'), person('<data>\n{}\n</data>')])
    expect(choice.message.content).toBe('You said: Hi')
  })

  test('streams the same, with tokens where they are asked for', async () => {
    const ask = async (more: object) => {
      const messages = [person('use it {"a":"a longer text"}')]
      const body = { model: 'any', messages, tools: [tool('it')], stream: true, ...more }
      const text = await (await send('POST', '/v1/chat/completions', body)).text()
      return text
        .split('\n\n')
        .filter(Boolean)
        .map((line) => line.replace(/^data: /, ''))
    }
    const lines = await ask({ stream_options: { include_usage: true } })
    expect(lines.at(-1)).toBe('[DONE]')
    const chunks: Parsed[] = lines.slice(0, -1).map((line) => JSON.parse(line))
    const deltas = chunks.flatMap(({ choices }) =>
      choices.flatMap((one: Parsed) => one.delta.tool_calls ?? []),
    )
    expect(deltas.map((one) => one.function.arguments).join('')).toBe('{"a":"a longer text"}')
    expect(deltas.length).toBeGreaterThan(2)
    expect(chunks.at(-1).usage.total_tokens).toBeGreaterThan(0)
    expect((await ask({})).some((line) => line.includes('total_tokens'))).toBe(false)
  })
})

describe('by a script, it', () => {
  const script = (...responses: object[]) => call('PUT', '/simulator/script', { responses })

  test('gives exact answers in their order, then plays by the rules again', async () => {
    await script({ text: 'one' }, { text: 'two', times: 2 })
    const said = []
    for (let n = 0; n < 4; n++) said.push((await chat([person('Hi')])).message.content)
    expect(said).toEqual(['one', 'two', 'two', 'You said: Hi'])
  })

  test('chooses by what a person wrote last, by anything in the conversation, by the model', async () => {
    await script(
      { when: { lastUserText: 'parcel' }, text: 'by text' },
      { when: { text: 'marker 7' }, text: 'by marker' },
      { when: { model: 'big' }, text: 'by model' },
    )
    expect((await chat([person('Hi')], { model: 'big' })).message.content).toBe('by model')
    const messages = [{ role: 'system', content: 'marker 7' }, person('Hi')]
    expect((await chat(messages)).message.content).toBe('by marker')
    expect((await chat([person('my parcel')])).message.content).toBe('by text')
    expect((await call('GET', '/simulator/script')).body).toEqual({ left: 0 })
  })

  test('fails a share of the requests, the same ones in every run', async () => {
    const run = async () => {
      await script({ when: { share: 0.2 }, times: 1_000, error: { status: 503, retryAfterSeconds: 2 } })
      const statuses = []
      for (let n = 0; n < 100; n++)
        statuses.push(
          (await call('POST', '/v1/chat/completions', { model: 'm', messages: [person('x')] })).status,
        )
      return statuses
    }
    const statuses = await run()
    const failed = statuses.filter((status) => status === 503).length
    expect(failed).toBeGreaterThan(8)
    expect(failed).toBeLessThan(35)
    expect(await run()).toEqual(statuses)
  })

  test('says errors as OpenAI does', async () => {
    await script({ error: { status: 429, message: 'Slow down', type: 'rate_limit', retryAfterSeconds: 4 } })
    const response = await send('POST', '/v1/chat/completions', { model: 'm', messages: [person('x')] })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '4'])
    expect(await response.json()).toEqual({
      error: { message: 'Slow down', type: 'rate_limit', param: null, code: null },
    })
  })

  test('refuses a script that it does not understand', async () => {
    expect((await script({ texts: 'x' })).status).toBe(400)
  })
})

describe('the API', () => {
  test('lists a model, and refuses the key that has expired', async () => {
    expect((await call('GET', '/v1/models')).body.data).toMatchObject([{ id: 'simulator', object: 'model' }])
    const headers = { authorization: 'Bearer expired' }
    expect((await fetch(`${simulator.url}/v1/models`, { headers })).status).toBe(401)
  })

  test.each([
    [{}, 400],
    [{ model: 'm', messages: [] }, 400],
    [{ model: 'm', messages: [person('x')], tools: [tool('not a name')] }, 400],
    [
      {
        model: 'm',
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '' } }],
          },
        ],
      },
      400,
    ],
  ])('refuses %j with %i', async (body, status) => {
    expect(await call('POST', '/v1/chat/completions', body)).toMatchObject({
      status,
      body: { error: { type: 'invalid_request_error' } },
    })
  })

  test('hears audio', async () => {
    const form = new FormData()
    form.append('model', 'whisper')
    form.append('file', new Blob(['OggS....']), 'a.ogg')
    const response = await fetch(`${simulator.url}/v1/audio/transcriptions`, { method: 'POST', body: form })
    expect(await response.json()).toEqual({ text: 'Audio of 8 bytes' })
    expect((await call('POST', '/v1/audio/transcriptions', {})).status).toBe(400)
  })
})

test('the simulator shows what it was asked, without the key', async () => {
  await chat([person('first')])
  await chat([person('second')])
  const { data, next } = (await call('GET', '/simulator/requests')).body
  expect(data).toMatchObject([
    { path: '/v1/chat/completions', model: 'any', messages: 1, lastUserText: 'first', key: '-key' },
    { lastUserText: 'second', body: { messages: [person('second')] } },
  ])
  await chat([person('third')])
  const { body } = await call('GET', `/simulator/requests?after=${next}`)
  expect(body.data).toMatchObject([{ lastUserText: 'third' }])
  expect(JSON.stringify(body)).not.toContain('any-key')
})
