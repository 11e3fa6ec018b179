import type { Binding, ConfiguredBinding } from '@parley/shared/bound-value'
import { placedIn, pointerOf } from './bindings.ts'
import type { Operation } from './operation.ts'
import { type SpecDocument, SpecError } from './spec-document.ts'

/**
 * An operation with what configuration binds besides what its spec does. `used` learns which of the bindings it has a
 * place for. Throws {@link SpecError} where one that is for this operation alone has none.
 */
export function withConfigured(
  document: SpecDocument,
  id: string,
  operation: Operation,
  {
    configured,
    used = new Set(),
  }: { configured: readonly ConfiguredBinding[]; used?: Set<ConfiguredBinding> },
): Operation {
  const mine = configured.filter((one) => one.operation === undefined || one.operation === id)
  if (mine.length === 0) return operation
  const { parameters, body } = operation
  const ofBody = mine.flatMap((one): Binding[] => {
    const [first = '', ...rest] = one.path
    if (body?.names.has(first)) return [one]
    return body !== undefined && first === 'body' ? [{ ...one, path: rest }] : []
  })
  for (const one of mine) {
    const [first = ''] = one.path
    const isParameter = parameters.some(({ name }) => name === first)
    if (isParameter || (body !== undefined && (first === 'body' || body.names.has(first)))) used.add(one)
    else if (one.operation !== undefined)
      throw new SpecError(
        `has an operation ${JSON.stringify(id)} without ${placeOf(one)}, which is to be bound`,
      )
  }
  return {
    ...operation,
    parameters: parameters.map((parameter) => {
      const own = mine.filter(({ path: [first] }) => first === parameter.name)
      const added = own.map(({ path, value }) => ({ path: path.slice(1), value }))
      const bindings = placedIn(document, parameter.schema, [...parameter.bindings, ...added])
      return { ...parameter, bindings }
    }),
    ...(body && {
      body: { ...body, bindings: placedIn(document, body.schema, [...body.bindings, ...ofBody]) },
    }),
  }
}

const placeOf = (binding: Binding): string =>
  JSON.stringify(binding.path.length === 1 ? binding.path[0] : pointerOf(binding))

/** A configured binding that no operation has a place for, as what none of them has. */
export function reasonOfUnused(
  configured: readonly ConfiguredBinding[],
  used: ReadonlySet<ConfiguredBinding>,
): string | undefined {
  const [unused] = configured.filter((one) => !used.has(one))
  return unused && `has ${placeOf(unused)}, which is to be bound`
}
