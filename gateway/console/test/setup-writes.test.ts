import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { applyWrites, withIds } from '../src/setup/apply-writes.ts'
import {
  EMPTY_SETUP,
  formOf,
  type Setup,
  type SetupForm,
  type StepForm,
  type Stored,
} from '../src/setup/setup-form.ts'
import { type Write, writesOf } from '../src/setup/setup-writes.ts'

type Tables = Record<string, Map<number, Stored>>

/** A configuration in memory that takes writes as the API does; `failAt` is the write that fails. */
function createStore(failAt = Number.POSITIVE_INFINITY) {
  const tables: Tables = {}
  let lastId = 1_000
  let count = 0
  let failsAt = failAt
  const tableOf = (name: string) => {
    tables[name] ??= new Map()
    return tables[name]
  }
  const send = async (write: Write): Promise<Stored | undefined> => {
    if (count++ === failsAt) throw new Error('unavailable')
    const table = tableOf(write.resource)
    if (write.kind === 'create') {
      const _id = ++lastId
      table.set(_id, { _id, ...write.body })
      return table.get(_id)
    }
    const before = table.get(write.id)
    if (before === undefined) throw new Error(`there is no ${write.resource}/${write.id}`)
    if (write.kind === 'delete') table.delete(write.id)
    else table.set(write.id, merged(before, write.body) as Stored)
    return table.get(write.id)
  }
  const mend = () => {
    failsAt = Number.POSITIVE_INFINITY
  }
  return { tables, tableOf, send, mend }
}

function merged(before: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const all = { ...(before as object) } as Record<string, unknown>
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete all[name]
    else all[name] = merged(all[name], value)
  }
  return all
}

/** Returns the setup that the page reads, starting from its assistant. */
function setupIn({ tableOf }: ReturnType<typeof createStore>): Setup {
  const find = (name: string, id: unknown) => tableOf(name).get(id as number)
  const all = (name: string, ids: unknown) =>
    ((ids as number[] | undefined) ?? []).flatMap((id) => find(name, id) ?? [])
  const [assistant] = tableOf('assistant').values()
  if (assistant === undefined) return EMPTY_SETUP
  const job = find('jobs', assistant.job)
  const workflow = find('workflows', job?.defaultWorkflow)
  return {
    ...{ assistant, job, workflow },
    steps: all('steps', workflow?.steps),
    actions: all('actions', assistant.actions),
    configs: [...tableOf('configs').values()],
  }
}

const text = fc.string({ maxLength: 8 })
const name = fc.string({ minLength: 1, maxLength: 8 })

const model = fc.oneof(
  fc.constant({ provider: '', model: '', baseUrl: '', key: '' }),
  fc.record({ provider: fc.constantFrom('openai', 'google'), model: name, baseUrl: text, key: text }),
)

const tool = fc.record({
  ...{
    name,
    description: text,
    specType: fc.constantFrom('openapi3-yaml', 'mcp'),
    moduleUrl: name,
    spec: text,
  },
  operations: fc.option(fc.array(name, { maxLength: 3 })),
  signIn: fc.oneof(
    fc.constantFrom({ kind: 'none' as const }, { kind: 'consent' as const }),
    fc.record({ kind: fc.constant('token' as const), token: name }),
    fc.record({ kind: fc.constant('basic' as const), username: name, password: name }),
  ),
})

/** Steps refer to any of them, themselves and earlier ones included. */
const workflow = fc
  .array(fc.record({ name, instructions: text, submitWhen: text, next: fc.nat(5) }), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((steps) =>
    fc.record({ name, instructions: text, first: fc.nat(steps.length - 1) }).map((given) => ({
      ...given,
      id: -500,
      first: -(given.first + 1),
      steps: steps.map(
        (step, at): StepForm => ({
          ...step,
          id: -(at + 1),
          next: step.next < steps.length ? -(step.next + 1) : null,
        }),
      ),
    })),
  )

const form: fc.Arbitrary<SetupForm> = fc.record({
  ...{ name, description: text, backstory: text, role: text, goal: text, model },
  tools: fc
    .array(tool, { maxLength: 3 })
    .map((tools) => tools.map((one, at) => ({ ...one, id: -(at + 100) }))),
  workflow: fc.option(workflow),
})

/** As it is read again: secrets are not, and no id is new. */
const asRead = (said: SetupForm): SetupForm => ({
  ...said,
  model: { ...said.model, key: '' },
  tools: said.tools.map((one) => ({
    ...one,
    signIn: { kind: one.signIn.kind === 'none' ? 'none' : 'stored' },
  })),
})

async function save(store: ReturnType<typeof createStore>, said: SetupForm, there = setupIn(store)) {
  const applied = await applyWrites(writesOf(said, there), { there, send: store.send })
  return { ...applied, said: withIds(said, applied.ids) }
}

describe('what an assistant’s page says is what is stored', () => {
  test('of a new assistant, which is read as it was written and needs no write then', async () => {
    await fc.assert(
      fc.asyncProperty(form, async (said) => {
        const store = createStore()
        const saved = await save(store, said)
        expect(saved.error).toBeUndefined()
        expect(formOf(setupIn(store))).toEqual(asRead(saved.said))
        expect(formOf(saved.there)).toEqual(formOf(setupIn(store)))
        expect(writesOf(formOf(setupIn(store)), setupIn(store))).toEqual([])
      }),
    )
  })

  test('of one that is changed to anything else, whose other fields and settings stay', async () => {
    await fc.assert(
      fc.asyncProperty(form, form, async (first, second) => {
        const store = createStore()
        const { said } = await save(store, first)
        for (const table of Object.values(store.tables))
          for (const [id, one] of table)
            table.set(id, {
              ...one,
              own: id,
              ...(one.value !== undefined && { value: { ...(one.value as object), own: id } }),
            })
        // The tools and steps of the first stay in part; the rest is new.
        const retained = said.tools.slice(1)
        const next = {
          ...second,
          tools: [
            ...retained.map((one) => ({ ...one, signIn: { kind: 'stored' as const } })),
            ...second.tools,
          ],
        }
        const saved = await save(store, next)
        expect(saved.error).toBeUndefined()
        const read = formOf(setupIn(store))
        // A tool that was taken out is not shown any more, even before the setup is read again.
        expect(formOf(saved.there)).toEqual(read)
        expect(read.tools.map(({ name, operations }) => [name, operations])).toEqual(
          next.tools.map(({ name, operations }) => [name, operations]),
        )
        expect([read.name, read.backstory, read.model.model]).toEqual([
          next.name,
          next.backstory,
          next.model.model,
        ])
        for (const one of retained) {
          const { _id, own } = store.tableOf('actions').get(one.id) as Stored
          expect(own).toBe(_id)
        }
        for (const { value } of store.tableOf('configs').values())
          if ('own' in (value as object)) expect((value as { own: number }).own).toBeGreaterThan(0)
      }),
    )
  })

  test('after a write in the middle failed and it was saved again, with nothing made twice', async () => {
    await fc.assert(
      fc.asyncProperty(form, fc.nat(12), async (said, failAt) => {
        const whole = createStore()
        await save(whole, said)
        const store = createStore(failAt)
        const first = await save(store, said)
        store.mend()
        const second = await save(store, first.said, first.there)
        expect(second.error).toBeUndefined()
        expect(formOf(setupIn(store))).toEqual(asRead(second.said))
        const sizes = ({ tables }: typeof store) =>
          Object.entries(tables)
            .flatMap(([of, { size }]) => (size === 0 ? [] : [`${size} ${of}`]))
            .sort()
        expect(sizes(store)).toEqual(sizes(whole))
      }),
    )
  })

  test('where a part can not be read: it stays, and nothing that refers to it is written', async () => {
    await fc.assert(
      fc.asyncProperty(form, fc.infiniteStream(fc.boolean()), async (said, isRead) => {
        const store = createStore()
        await save(store, said)
        const hidden = (all: readonly Stored[]) => all.filter(() => isRead.next().value)
        const one = (document: Stored | undefined) => (isRead.next().value ? document : undefined)
        const all = setupIn(store)
        const job = one(all.job)
        const workflow = job && one(all.workflow)
        const there = {
          ...{ ...all, job, workflow, actions: hidden(all.actions) },
          steps: workflow === undefined ? [] : hidden(all.steps),
        }
        expect(writesOf(formOf(there), there)).toEqual([])

        await save(store, { ...formOf(there), name: 'another', goal: 'another', role: 'another' }, there)
        const { assistant, steps, actions, workflow: same } = setupIn(store)
        expect(assistant?.name).toBe('another')
        expect([steps, actions, same]).toEqual([all.steps, all.actions, all.workflow])
        expect(store.tableOf('jobs').size).toBe(1)
      }),
    )
  })

  test('where its model is listed: it leaves the list before it is deleted', () => {
    const model = {
      _id: 7,
      name: 'model',
      owner: 1,
      ownerType: 'assistant',
      value: { provider: 'openai', model: 'x' },
    }
    const there = { ...EMPTY_SETUP, assistant: { _id: 1, name: 'Bia', configs: [7, 8] }, configs: [model] }
    const said = { ...formOf(there), model: { provider: '', model: '', baseUrl: '', key: '' } }
    expect(writesOf(said, there)).toEqual([
      { kind: 'change', resource: 'assistant', id: 1, body: { configs: [8] } },
      { kind: 'delete', resource: 'configs', id: 7 },
    ])
  })
})
