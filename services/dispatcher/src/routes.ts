import type { Route } from '@parley/shared/openapi/route'
import { beginConnection, type Connecting, endConnection } from './api/actions/connection-routes.ts'
import { type Discovering, discoverTools } from './api/actions/discover-route.ts'
import { type Testing, testAction } from './api/actions/test-route.ts'
import { type Prompting, showPrompt } from './api/assistant/prompt-routes.ts'
import { type Trying, tryAssistant } from './api/assistant/trial-routes.ts'
import { type ChannelTesting, testChannel } from './api/channels/test-route.ts'
import { type Media, readMessageAudio, readMessageMedia } from './api/media/media-routes.ts'
import { type Cancelling, cancelMessage } from './api/messages/cancel-routes.ts'
import { type Replaying, replayMessage, replayMessages } from './api/messages/replay-routes.ts'
import { listMessages, type MessageLog, readMessage } from './api/messages/routes.ts'
import { listNotices, type Noticed } from './api/notices/notice-routes.ts'
import { type Following, followEvents, followThread } from './api/streams/stream-routes.ts'
import {
  listDeliveries,
  readDelivery,
  replayDeliveries,
  replayDelivery,
  type Subscribed,
  testSubscription,
} from './api/subscriptions/delivery-routes.ts'
import { type Conversations, readThreadMessages, replyInThread } from './api/threads/conversation-routes.ts'
import { type Files, uploadFile } from './api/threads/file-routes.ts'
import { deleteNote, listNotes, type Notes, postNote } from './api/threads/note-routes.ts'
import { type PresenceShown, showPresence } from './api/threads/presence-routes.ts'
import {
  deleteThread,
  listThreads,
  patchThread,
  readOneThread,
  type Threads,
} from './api/threads/thread-routes.ts'
import { showTyping, type TypingShown } from './api/threads/typing-routes.ts'
import { type Counted, readTraffic } from './api/traffic/traffic-routes.ts'
import { type InFlight, readWaiting } from './api/traffic/waiting-routes.ts'
import { readUsage, type Used } from './api/usage/usage-routes.ts'
import { type Reconciled, readReconciliation } from './reconciliation/reconciliation-routes.ts'

type OfMessages = MessageLog & Replaying & Cancelling & Media & Counted & InFlight & Reconciled
/** The dependencies of all routes together. */
export type Needed = OfMessages &
  Connecting &
  Testing &
  ChannelTesting &
  Discovering &
  Prompting &
  Trying &
  Used &
  Noticed &
  Subscribed &
  Following &
  Threads &
  Conversations &
  Files &
  TypingShown &
  PresenceShown &
  Notes

/** Every public operation of this service. */
export const routes: readonly Route<Needed>[] = [
  ...[listMessages, readMessage, readMessageAudio, readMessageMedia, replayMessages, replayMessage],
  cancelMessage,
  ...[readTraffic, readWaiting, readReconciliation],
  ...[showPrompt, tryAssistant, beginConnection, endConnection, testAction, discoverTools],
  ...[readUsage, listNotices, testChannel],
  ...[listDeliveries, readDelivery, replayDelivery, replayDeliveries, testSubscription],
  ...[followEvents, followThread],
  ...[listThreads, readOneThread, patchThread, deleteThread, readThreadMessages, replyInThread],
  ...[uploadFile, showTyping, showPresence],
  ...[listNotes, postNote, deleteNote],
]
