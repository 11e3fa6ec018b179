import { jsonOrUndefined } from '../../parse-json.ts'
import type { ProviderResponse } from '../http.ts'
import type { AccountCheck, Outbound } from '../outbound.ts'
import { isJsonObject, own, textAt } from '../own.ts'
import { get } from './api.ts'
import { rateFields, throughputIn } from './rates.ts'

type Finding = ReturnType<AccountCheck['read']>

/** A channel's token, number, subscription and, where one is asked for, a template, as the Cloud API has them. */
export const account: NonNullable<Outbound['account']> = (settings, { template, language }) => {
  const { phoneNumberId = '', businessAccountId } = settings
  const token: AccountCheck = {
    name: 'access token',
    request: get(settings, `${phoneNumberId}?fields=id`),
    read: tokenOf,
  }
  const number: AccountCheck = {
    name: 'number',
    request: get(
      settings,
      `${phoneNumberId}?fields=display_phone_number,verified_name,${rateFields(settings)}`,
    ),
    read: (response) => refusalIn(response) ?? numberOf(response, phoneNumberId),
  }
  const subscription: AccountCheck = {
    name: 'subscription',
    ...(businessAccountId === undefined
      ? { read: () => WITHOUT_SUBSCRIPTION }
      : { request: get(settings, `${businessAccountId}/subscribed_apps`), read: subscriptionOf }),
  }
  const always = [token, number, subscription]
  if (template === undefined) return always
  if (businessAccountId === undefined) return [...always, { name: 'template', read: () => WITHOUT_ACCOUNT }]
  const query = `name=${encodeURIComponent(template)}&fields=name,language,status`
  return [
    ...always,
    {
      name: 'template',
      request: get(settings, `${businessAccountId}/message_templates?${query}`),
      read: (response) => refusalIn(response) ?? templateOf(response, { template, language }),
    },
  ]
}

const WITHOUT_ACCOUNT: Finding = {
  result: 'unknown',
  text: "Put the WhatsApp business account's id into config.businessAccountId, and templates are checked.",
}

const WITHOUT_SUBSCRIPTION: Finding = {
  result: 'unknown',
  text: "Put the WhatsApp business account's id into config.businessAccountId, and it is checked where its updates go.",
}
/** The code of a token that is wrong, has ended or was taken back. */
const TOKEN_REFUSED = 190

function tokenOf(response: ProviderResponse): Finding {
  const code = own(own(jsonOrUndefined(response.body), 'error'), 'code')
  if (code === TOKEN_REFUSED || response.status === 401)
    return refusalIn(response) ?? bad('The provider refuses it.')
  return { result: 'ok', text: 'The provider takes it.' }
}

/** Updates come only from an account that an app is subscribed to; which one, people see by its name. */
function subscriptionOf(response: ProviderResponse): Finding {
  const refusal = refusalIn(response)
  if (refusal !== undefined) return refusal
  const data = own(jsonOrUndefined(response.body), 'data')
  const apps = (Array.isArray(data) ? data : []).map((one) => own(one, 'whatsapp_business_api_data'))
  if (apps.length === 0)
    return bad('No app is subscribed to the account: its updates go nowhere. Subscribe yours to it.')
  const names = apps.map((app) => textAt(app, 'name') ?? textAt(app, 'id') ?? '').join(', ')
  return { result: 'ok', text: `Updates of the account go to ${names}.` }
}

function refusalIn({ status, body }: ProviderResponse): Finding | undefined {
  if (status >= 200 && status < 300) return undefined
  const error = own(jsonOrUndefined(body), 'error')
  const code = own(error, 'code') ?? status
  return bad(`The provider refuses with ${code}: ${textAt(error, 'message') ?? 'no reason given'}`)
}

function numberOf(response: ProviderResponse, phoneNumberId: string): Finding {
  const found = jsonOrUndefined(response.body)
  const perSecond = throughputIn(response)
  const shown = textAt(found, 'display_phone_number') ?? phoneNumberId
  const quality = textAt(found, 'quality_rating')
  return {
    result: quality === 'RED' ? 'bad' : 'ok',
    text: [
      `${shown} ${textAt(found, 'verified_name') ?? ''}`,
      ...(quality === undefined ? [] : [`quality ${quality}`]),
      ...(perSecond === undefined ? [] : [`${perSecond} messages a second`]),
    ].join(', '),
  }
}

function templateOf(
  { body }: ProviderResponse,
  { template, language }: { template: string; language: string | undefined },
): Finding {
  const data = own(jsonOrUndefined(body), 'data')
  const named = (Array.isArray(data) ? data : []).filter((one) => isJsonObject(one) && one.name === template)
  const fitting = named.filter((one) => language === undefined || one.language === language)
  const approved = fitting.find(({ status }) => status === 'APPROVED')
  if (approved !== undefined) return { result: 'ok', text: `${template} is approved in ${approved.language}` }
  if (fitting[0] !== undefined) return bad(`${template} is ${fitting[0].status} in ${fitting[0].language}.`)
  const known = named.map((one) => one.language).join(', ')
  if (known === '') return bad(`There is no template ${template}.`)
  return bad(`${template} is not there in ${language}, but in ${known}.`)
}

const bad = (text: string): Finding => ({ result: 'bad', text })
