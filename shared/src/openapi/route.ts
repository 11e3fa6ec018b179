import { type Request, type RequestHandler, type Response, Router } from 'express'
import { z } from 'zod'
import { jsonBody } from '../json-body.ts'
import { readQuery } from '../list-query.ts'
import { methodNotAllowed } from '../problem.ts'
import { parse } from '../validate.ts'
import type { Operation, RequestBody } from './operation.ts'

/** An operation with what does it. */
export interface Route<D> extends Operation {
  handlers(needed: D): RequestHandler[]
}

/** The parameters between the braces of a path. */
type PathParameters<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: string } & PathParameters<Rest>
  : Record<never, string>

/** Query and body of a request, as its route describes them. */
interface Asked<Q extends z.ZodObject, B extends z.ZodType> {
  /** Throws `validation_failed`, for what the route does not describe too. */
  query(): z.output<Q>
  /** An optional body that is not there is an empty object. Throws `validation_failed`. */
  body(): z.output<B>
}

interface Definition<P extends string, D, Q extends z.ZodObject, B extends z.ZodType> extends Operation {
  path: P
  query?: Q
  body?: RequestBody<B>
  /** Query and body are read when the handler asks for them, which it does once the caller may do this at all. */
  handle(needed: D): (req: Request<PathParameters<P>>, res: Response, asked: Asked<Q, B>) => unknown
}

const noParameters = z.object({})

/** A route: what it is served by and what it is described by are the same. */
export function route<
  const P extends string,
  D,
  Q extends z.ZodObject = typeof noParameters,
  B extends z.ZodType = z.ZodUndefined,
>({ handle, ...operation }: Definition<P, D, Q, B>): Route<D> {
  const { query = noParameters, body } = operation
  return {
    ...operation,
    handlers: (needed) => {
      const handler = handle(needed)
      return [
        ...readerOf(body),
        (req, res) =>
          handler(req as unknown as Request<PathParameters<P>>, res, {
            query: () => readQuery(query as Q, req),
            body: () => parse(body?.schema as B, body?.optional && req.body === undefined ? {} : req.body),
          }),
      ]
    },
  }
}

function readerOf(body: RequestBody | undefined): RequestHandler[] {
  if (body?.maxBytes === undefined) return []
  const { maxBytes, maxMembers, types } = body
  return [
    jsonBody({
      maxBytes,
      ...(maxMembers !== undefined && { maxMembers }),
      ...(types !== undefined && { types: [...types] }),
    }),
  ]
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * Serves routes with what they need, each under its path and its aliases; a path without parameters comes before one that
 * has them. 405 for methods that a path has not.
 */
export function serveRoutes<D>(
  routes: readonly Route<D>[],
  needed: D,
  options: {
    /** Comes before what takes a token. */
    requireCaller: RequestHandler
    /** Methods that another service has at these paths. */
    elsewhere?: Readonly<Record<string, readonly Operation['method'][]>>
  },
): Router {
  const router = Router({ caseSensitive: true, strict: true })
  const served = routes.map((one) => ({ ...one, handlers: one.handlers(needed) }))
  const byPath = Map.groupBy(
    served.flatMap((one) => [one.path, ...(one.aliases ?? [])].map((path) => ({ ...one, path }))),
    ({ path }) => path,
  )
  const sorted = [...byPath].toSorted(([one], [other]) => (rankOf(one) < rankOf(other) ? -1 : 1))
  for (const [path, here] of sorted) {
    const at = router.route(path.replaceAll(/\{(\w+)\}/g, ':$1'))
    for (const { method, access, handlers } of here) {
      const isOpen = access === 'nothing' || access === 'optional'
      const verb = method.toLowerCase() as Lowercase<typeof method>
      at[verb](...(isOpen ? [] : [options.requireCaller]), ...handlers)
    }
    const there: readonly string[] = [
      ...here.map(({ method }) => method),
      ...(options.elsewhere?.[path] ?? []),
    ]
    at.all(methodNotAllowed(...METHODS.filter((method) => there.includes(method))))
  }
  return router
}

/** Sorts a parameter after all that a path may have in its place. */
const rankOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '\uffff')
