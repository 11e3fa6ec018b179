import { RESOURCE_ALIASES } from '@parley/shared/configuration-resources'
import { operations as permitted } from '../../docs/permission-operations.ts'
import { type Named, operations } from '../openapi/read-document.ts'

export interface FuzzedOperation extends Named {
  permission: (typeof permitted)[number]
}

/** Every operation of the document, with what it takes. */
export const fuzzedOperations: readonly FuzzedOperation[] = operations.flatMap((named) => {
  const permission = permitted.find(({ method, path }) => method === named.method && path === named.path)
  return permission === undefined ? [] : [{ ...named, permission }]
})

const matching = fuzzedOperations.map((operation) => ({
  operation,
  // A path without a placeholder wins over one that has one.
  rank: operation.path.includes('{') ? 1 : 0,
  pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
}))

/** The operations of a path, whatever the method; an alias of a collection has those of its name. */
function operationsAt(target: string): FuzzedOperation[] {
  const [asked = ''] = target.split('?', 1)
  const path = asked.replace(/^\/rest\/([^/]+)/, (all, name) =>
    Object.hasOwn(RESOURCE_ALIASES, name) ? `/rest/${RESOURCE_ALIASES[name]}` : all,
  )
  const found = matching.filter(({ pattern }) => pattern.test(path))
  const best = Math.min(...found.map(({ rank }) => rank))
  return found.filter(({ rank }) => rank === best).map(({ operation }) => operation)
}

/** The operation that a request asks for; HEAD asks for what GET does. */
export function operationOf(method: string, target: string): FuzzedOperation | undefined {
  const described = method === 'HEAD' ? 'GET' : method
  return operationsAt(target).find((operation) => operation.method === described)
}

const takesBody = ({ operation }: Named) => operation.requestBody !== undefined
export const operationsWithBody = fuzzedOperations.filter(takesBody)
export const securedOperations = fuzzedOperations.filter(({ permission }) => permission.access !== 'nothing')
