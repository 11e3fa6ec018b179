import { LRUCache } from 'lru-cache'
import mongoose from 'mongoose'
import type { ResourceName } from '../resources/definition.ts'
import type { Address, StoredDocument } from './stored-document.ts'

const { calculateObjectSize } = mongoose.mongo.BSON
const MAX_DOCUMENTS = 10_000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_DOCUMENT_BYTES = 256 * 1024

/**
 * What this process wrote last, so that the next write of it needs no read. It may be out of date: only a write
 * that is conditional on its version may rest on it.
 */
export interface RecentDocuments {
  get(resource: ResourceName, address: Address): StoredDocument | undefined
  set(resource: ResourceName, stored: StoredDocument): void
  forget(resource: ResourceName, address: Address): void
}

/** Holds at most 10,000 documents and 32 MiB, none over 256 KiB. */
export function createRecentDocuments(): RecentDocuments {
  const documents = new LRUCache<string, StoredDocument>({
    max: MAX_DOCUMENTS,
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_DOCUMENT_BYTES,
    sizeCalculation: (stored) => calculateObjectSize(stored),
  })
  const nameOf = (resource: ResourceName, { workspace, id }: Address) => `${resource}/${workspace}/${id}`
  return {
    get: (resource, address) => documents.get(nameOf(resource, address)),
    set: (resource, stored) => void documents.set(nameOf(resource, stored._id), stored),
    forget: (resource, address) => void documents.delete(nameOf(resource, address)),
  }
}
