import type { SendOutcome } from '../http.ts'

const HOUR = 60 * 60
const DAY = 24 * HOUR

/** The meaning of one of Meta's error codes, in a response and in a status that comes later. */
interface ErrorCode {
  /** The error in words. */
  meaning: string
  /** When trying again can work: soon, or after so many seconds. It is not tried again where this is missing. */
  retry?: 'soon' | number
  /** The provider's where it is tried again, else the channel's, unless said otherwise. */
  fault?: 'caller' | 'provider' | 'recipient'
  /** The number's rate was it. */
  isTooFast?: true
  /** The person has told Meta that they want no marketing of the business. */
  isOptOut?: true
  /** Advice for people. */
  advice?: string
}

/** Meta's error codes (Cloud API error reference). Others are not tried again, and the channel's fault. */
export const CODES: Readonly<Record<number, ErrorCode>> = {
  0: { meaning: 'the app could not be authenticated', advice: 'Store a new config.accessToken.' },
  1: { meaning: 'an unknown error of the API', retry: 'soon' },
  2: { meaning: 'the API is down or overloaded', retry: 'soon' },
  3: { meaning: 'a permission is missing', advice: 'Give the system user whatsapp_business_messaging.' },
  4: { meaning: 'the app makes too many calls', retry: 'soon' },
  10: { meaning: 'a permission is missing', advice: 'Give the system user the WhatsApp business account.' },
  33: { meaning: 'the number was deleted', advice: 'Correct config.phoneNumberId.' },
  100: {
    meaning: 'a parameter is wrong',
    fault: 'caller',
    advice: 'A parameter is wrong, mostly the number or config.phoneNumberId.',
  },
  190: {
    meaning: 'the access token has expired',
    advice: "The channel's config.accessToken has expired or is wrong: store a new one.",
  },
  200: { meaning: 'a permission is missing', advice: 'Give the system user the WhatsApp business account.' },
  368: {
    meaning: 'the account is blocked for a violation of policies',
    advice: 'See the account’s quality at Meta, and ask there for a review.',
  },
  80007: { meaning: "the account's rate was exceeded", retry: 'soon' },
  130429: { meaning: "the number's rate was exceeded", retry: 'soon', isTooFast: true },
  130472: {
    meaning: 'the person is in a group to whom Meta delivers no marketing',
    fault: 'recipient',
    advice: 'It is not delivered to this person until they write: send what is no marketing, or wait.',
  },
  130497: {
    meaning: 'the account may not write to this country',
    advice: 'Meta does not let this account write to the country of the number.',
  },
  131000: { meaning: 'something went wrong at Meta', retry: 'soon' },
  131005: { meaning: 'access is denied', advice: 'Give the system user whatsapp_business_messaging.' },
  131008: { meaning: 'a parameter is missing', fault: 'caller' },
  131009: { meaning: 'a value of a parameter is wrong', fault: 'caller' },
  131016: { meaning: 'a service of Meta’s is unavailable', retry: 'soon' },
  131021: {
    meaning: 'sender and recipient are the same number',
    fault: 'caller',
    advice: 'Write to another number than the channel’s own.',
  },
  131026: {
    meaning: 'it could not be delivered',
    fault: 'caller',
    advice:
      'The number can not receive WhatsApp messages: it has no account, an old version, or has not agreed to the terms.',
  },
  131031: {
    meaning: 'the account is locked',
    advice: 'See the account at Meta, and ask there for a review.',
  },
  131037: {
    meaning: "the number's display name is not approved",
    advice: 'Have the display name approved at Meta.',
  },
  131042: {
    meaning: 'the account can not pay',
    advice: 'Correct the way to pay of the WhatsApp business account at Meta.',
  },
  131045: { meaning: 'the number is not registered', advice: 'Register the number with the Cloud API.' },
  131047: {
    meaning: 'more than 24 hours have passed since the person wrote',
    fault: 'caller',
    advice: 'The last message of the person is over 24 hours old: only a template may be sent.',
  },
  131048: {
    meaning: 'too many messages of the number were blocked or reported',
    retry: HOUR,
    advice: 'See the quality of the number at Meta; send less to people who did not ask for it.',
  },
  131049: {
    meaning: 'Meta did not deliver it, so that people do not get too much marketing',
    retry: DAY,
    advice: 'It is tried again after a day; sooner it would not be delivered either.',
  },
  131050: {
    meaning: 'the person has stopped marketing messages of this business',
    fault: 'recipient',
    isOptOut: true,
    advice: 'The person does not want marketing from this business: leave them out.',
  },
  131051: {
    meaning: 'the type of message is not supported',
    fault: 'caller',
    advice: 'WhatsApp does not take this type of message.',
  },
  131052: { meaning: 'media of a person could not be downloaded', fault: 'caller' },
  131053: {
    meaning: 'media could not be uploaded',
    fault: 'caller',
    advice: 'Its type or size is not one that WhatsApp takes, or its link does not lead to it.',
  },
  131056: { meaning: 'too many messages to this person in a short time', retry: 'soon' },
  131057: { meaning: 'the account is in maintenance', retry: 'soon' },
  132000: {
    meaning: 'the number of parameters does not fit the template',
    fault: 'caller',
    advice: "The number of --var does not fit the template's variables.",
  },
  132001: {
    meaning: 'there is no such template',
    advice: 'There is no such template in this language, or it is not approved.',
  },
  132005: { meaning: 'the filled-in template is too long', fault: 'caller' },
  132007: { meaning: 'the template breaks a policy', advice: 'Correct the template at Meta.' },
  132012: { meaning: "a parameter's format does not fit the template", fault: 'caller' },
  132015: {
    meaning: 'the template is paused',
    advice: 'The template is paused because of its quality.',
  },
  132016: {
    meaning: 'the template is disabled for good',
    advice: 'The template was paused too often because of its quality: make another one.',
  },
  132018: { meaning: "a parameter's value does not fit the template", fault: 'caller' },
  132068: { meaning: 'the form is blocked', advice: 'See the form (flow) at Meta.' },
  132069: { meaning: 'the form is throttled', advice: 'See the form (flow) at Meta.' },
  133004: { meaning: 'a server of Meta’s is unavailable', retry: 'soon' },
  133010: {
    meaning: 'the number is not registered',
    advice: 'The number is not registered with the Cloud API.',
  },
  134011: {
    meaning: 'the terms of payments are not accepted',
    advice: 'Accept the terms of WhatsApp payments at Meta.',
  },
  135000: { meaning: 'an unknown error with the parameters', fault: 'caller' },
}

/** The outcome of a send by a code. */
export function outcomeOfCode(number: number): Exclude<SendOutcome, { kind: 'accepted' | 'uncertain' }> {
  const known = Object.hasOwn(CODES, number) ? CODES[number] : undefined
  const { retry, fault, isTooFast, isOptOut } = known ?? {}
  const code = String(number)
  const reason = `The provider refused it with code ${code}.`
  if (retry === undefined)
    return { kind: 'permanent', code, fault: fault ?? 'channel', reason, ...(isOptOut && { isOptOut }) }
  return {
    ...{ kind: 'retryable', code, fault: fault ?? 'provider', reason },
    ...(retry !== 'soon' && { retryAfterSeconds: retry }),
    ...(isTooFast && { isTooFast }),
  }
}

/** Advice for Meta's codes, and for those that sending through it leaves. */
export const advice: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(CODES).flatMap(([code, { advice }]) => (advice === undefined ? [] : [[code, advice]])),
  ),
  no_address:
    "Give user.phone as a phone number with its country code, or as the id that WhatsApp gave; a person without either can't be written to.",
}
