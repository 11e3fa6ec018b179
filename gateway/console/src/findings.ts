/** Something that `/rest/check` finds wrong. */
export interface Finding {
  code: string
  resource: string
  _id: number
  path: string
  message: string
}

/** The page of the document that a finding is about, below `/console`. */
export function hrefOfFinding({ resource, _id }: Pick<Finding, 'resource' | '_id'>): string {
  return resource === 'channels' ? `/channels/${_id}` : `/assistants/${resource}/${_id}`
}
