import type { Schemas } from '@parley/client'
import { call } from './api.ts'
import { hrefOf } from './router.ts'

/** Where a browser comes back to when somebody gave consent. */
const CONNECTED = '/connected'
const PAGE = /^\/assistants\/(?:actions\/)?\d{1,16}$/

/** Sends the browser to where somebody gives consent for an action; it comes back to `page`. */
export async function connectAction(action: number, page: string): Promise<void> {
  const body = { redirectUri: location.origin + hrefOf(CONNECTED) }
  const begun = await call<Schemas['Connection']>('POST', `/rest/actions/${action}/connect`, { body })
  sessionStorage.setItem(nameOf(action), page)
  location.assign(begun.authorizationUrl)
}

/** The page from which an action was connected in this tab; its own where that is not known. */
export function pageOfConnection(action: number | string): string {
  const page = sessionStorage.getItem(nameOf(action)) ?? ''
  sessionStorage.removeItem(nameOf(action))
  return PAGE.test(page) ? page : `/assistants/actions/${action}`
}

const nameOf = (action: number | string): string => `parley.connecting.${action}`
