/** The known templates of one name, in all languages: a replica of the campaigns service's data. */
export interface TemplateRecord {
  /** `<workspace>/<account>/<name>` */
  _id: string
  workspace: number
  /** The definitions, as JSON text. */
  definitions: string
  /** When the provider said so: what is older is not written over it. */
  at: Date
  storedAt: Date
}
