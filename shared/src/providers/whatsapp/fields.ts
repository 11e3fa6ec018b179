import type { Reading, Update } from '../inbound.ts'
import { own } from '../own.ts'
import { type Change, itemsIn, keysIn, noticeIn } from './change.ts'
import { contactsOfApp, echoesIn, historyIn } from './coexistence.ts'
import { contactsIn } from './contacts.ts'
import { messageUpdate } from './messages.ts'
import { personIn } from './persons.ts'
import { statusOf } from './statuses.ts'

/** The fate of the changes of one field, and their subject. */
type WebhookField = { about: string } & (
  | { fate: 'taken'; updatesIn(change: Change, reading: Reading): Update[] }
  /** Each is a notice of the channel. */
  | { fate: 'kept' }
  /** Nothing is done with them. */
  | { fate: 'counted'; reason: string }
)

const noticed = (about: string): WebhookField => ({ fate: 'kept', about })

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
  messaging_handovers: noticed('another application got the conversation, or gave it back'),
  user_preferences: noticed('a person stopped or resumed marketing messages'),
  message_template_status_update: noticed('a template was approved, refused, paused or disabled'),
  message_template_quality_update: noticed("a template's quality changed"),
  message_template_components_update: noticed("a template's text or buttons were edited"),
  template_category_update: noticed("a template's category changes, and with it its price"),
  template_correct_category_detection: noticed("a template's category does not fit what it says"),
  phone_number_quality_update: noticed("the number's quality or its limit changed"),
  phone_number_name_update: noticed('the name that people see was reviewed'),
  business_capability_update: noticed('how much the account may send, and how many numbers it may have'),
  business_status_update: noticed("the business's status changed"),
  account_update: noticed('the account was verified, restricted, moved or deleted'),
  account_alerts: noticed("something to be done about the number's limit or profile"),
  account_review_update: noticed('the account was reviewed'),
  account_settings_update: noticed("the number's settings changed"),
  security: noticed("the number's two-step verification changed"),
  calls: noticed('a call began or ended'),
  flows: noticed("a form's status changed, or its endpoint has errors"),
  group_lifecycle_update: noticed('a group was made or deleted'),
  group_participants_update: noticed('people joined a group, left it, or ask to'),
  group_settings_update: noticed("a group's name, picture or description changed"),
  group_status_update: noticed('a group was suspended, or its suspension ended'),
  automatic_events: noticed('a purchase or a lead was seen in a conversation'),
  partner_solutions: noticed('a solution of several partners changed its status'),
  payment_configuration_update: noticed('a way to pay was connected, or has to be'),
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
