import { createRouter, routes } from '@parley/gateway/routes'
import type { Express } from 'express'

interface Layer {
  rawPath: unknown
  route?: { path: string; methods: Record<string, boolean> }
  handle: { stack?: Layer[] }
}

/** What an app has a handler for, and the gateway lets in, as `GET /rest/users/{id}`; read off its routers. */
export function routedOperations(app: Pick<Express, 'router'>): string[] {
  const findRoute = createRouter(routes)
  return operationsBelow('', (app as unknown as { router: { stack: Layer[] } }).router.stack).filter(
    (name) => {
      const [method = '', path = ''] = name.split(' ')
      const route = findRoute(path.replaceAll(/[{}]/g, ''), method)
      return route?.methods.includes(method)
    },
  )
}

/** The same without asking the gateway's table. */
export function operationsBelow(prefix: string, stack: readonly Layer[]): string[] {
  return stack.flatMap((layer) => {
    if (layer.route !== undefined) {
      const { methods } = layer.route
      const path = (prefix + layer.route.path).replace(/(?<=.)\/$/, '').replaceAll(/:(\w+)/g, '{$1}')
      const named = Object.keys(methods).filter((method) => methods[method] && method !== '_all')
      return named.map((method) => `${method.toUpperCase()} ${path}`)
    }
    const { stack: inner } = layer.handle
    if (inner === undefined) return []
    return [layer.rawPath].flat().flatMap((mount) => {
      if (typeof mount !== 'string') throw new Error('a router is mounted under what is no plain path')
      return operationsBelow(prefix + (mount === '/' ? '' : mount), inner)
    })
  })
}
