import type { Reading, Update } from '../inbound.ts'
import { own } from '../own.ts'
import { type Change, itemsIn, keysIn, noticeIn } from './change.ts'
import { contactsOfApp, echoesIn, historyIn } from './coexistence.ts'
import { contactsIn } from './contacts.ts'
import { messageUpdate } from './messages.ts'
import { personIn } from './persons.ts'
import { statusOf } from './statuses.ts'

/** The fate of the changes of one field, and their subject. */
type WebhookField =
  | { fate: 'taken'; about: string; updatesIn(change: Change, reading: Reading): Update[] }
  /** Each is a notice of the channel. */
  | { fate: 'kept' }
  /** Nothing is done with them. */
  | { fate: 'counted'; about: string; reason: string }

const NOTICE: WebhookField = { fate: 'kept' }

/** Every field that Meta documents. Changes of any other are notices, too. */
export const WEBHOOK_FIELDS: Readonly<Record<string, WebhookField>> = {
  messages: {
    fate: 'taken',
    about: 'what people write, and the statuses of what was sent; errors of the number are notices',
    updatesIn: messagesIn,
  },
  smb_message_echoes: {
    fate: 'taken',
    about: 'what the business writes in its own app, edits and deletions too',
    updatesIn: echoesIn,
  },
  history: {
    fate: 'taken',
    about: 'what was said before the number was connected; that the business shares nothing is a notice',
    updatesIn: historyIn,
  },
  smb_app_state_sync: {
    fate: 'taken',
    about: "the contacts of the business's own app, which name people",
    updatesIn: contactsOfApp,
  },
  message_echoes: {
    fate: 'counted',
    about: 'what was sent through the API',
    reason: 'Parley has it already, and what another application sends is none of its messages',
  },
  standby: {
    fate: 'counted',
    about: 'what people write while another application has the conversation',
    reason: 'it is for the other application, and never answered',
  },
  tracking_events: {
    fate: 'counted',
    about: 'clicks and conversions of advertisements',
    reason: 'they are for the systems of whoever advertises',
  },
  messaging_handovers: NOTICE,
  user_preferences: NOTICE,
  message_template_status_update: NOTICE,
  message_template_quality_update: NOTICE,
  message_template_components_update: NOTICE,
  template_category_update: NOTICE,
  template_correct_category_detection: NOTICE,
  phone_number_quality_update: NOTICE,
  phone_number_name_update: NOTICE,
  business_capability_update: NOTICE,
  business_status_update: NOTICE,
  account_update: NOTICE,
  account_alerts: NOTICE,
  account_review_update: NOTICE,
  account_settings_update: NOTICE,
  security: NOTICE,
  calls: NOTICE,
  flows: NOTICE,
  group_lifecycle_update: NOTICE,
  group_participants_update: NOTICE,
  group_settings_update: NOTICE,
  group_status_update: NOTICE,
  automatic_events: NOTICE,
  partner_solutions: NOTICE,
  payment_configuration_update: NOTICE,
}

/** Lists of a change, of which each item is an update. */
const LISTS = ['messages', 'statuses', 'errors']

/** Messages, statuses, and what else there is beside them; the names of contacts belong to the messages. */
function messagesIn(change: Change, reading: Reading): Update[] {
  const { value, path } = change
  const found = own(value, 'contacts')
  const contacts = contactsIn(Array.isArray(found) ? found : [], reading)
  const others = keysOfOthers(change)
  const raw = Object.fromEntries(others.map((key) => [key, value[key]]))
  return [
    ...itemsIn(change, 'messages', (one) => messageUpdate(one, contacts)),
    ...itemsIn(change, 'statuses', (one) => ({
      ...{ kind: 'status', fate: 'accepted', status: statusOf(one) },
      person: personIn(one, contacts.senderOf(one)),
    })),
    ...itemsIn(change, 'errors', (one) => noticeIn(change, one)),
    ...(others.length === 0 ? [] : [{ path, raw, ...noticeIn(change, raw) }]),
  ]
}

/** Beside messages and statuses only what has a list of its own; without any, all there is. */
function keysOfOthers(change: Change): string[] {
  const keys = keysIn(change)
  if (!keys.some((key) => LISTS.includes(key))) return keys
  const hasItems = (key: string) => Array.isArray(change.value[key]) && change.value[key].length > 0
  return keys.filter((key) => ![...LISTS, 'contacts'].includes(key) && hasItems(key))
}
