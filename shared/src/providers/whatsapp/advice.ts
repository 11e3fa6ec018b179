/** What Meta's codes ask for, and those that sending through it leaves. */
export const advice: Readonly<Record<string, string>> = {
  190: "The channel's config.accessToken has expired or is wrong: store a new one.",
  100: 'A parameter is wrong, mostly the number or config.phoneNumberId.',
  131026:
    'The number can not receive WhatsApp messages: it has no account, an old version, or has not agreed to the terms.',
  131047: 'The last message of the person is over 24 hours old: only a template may be sent.',
  131051: 'WhatsApp does not take this type of message.',
  132000: "The number of --var does not fit the template's variables.",
  132001: 'There is no such template in this language, or it is not approved.',
  132015: 'The template is paused because of its quality.',
  133010: 'The number is not registered with the Cloud API.',
  no_address:
    "Give user.phone as a phone number with its country code, or as the id that WhatsApp gave; a person without either can't be written to.",
}
