/** The form by which a paused run is answered: made for the kind of each question, or for its schema. */
import type { Question } from 'holdfast/client'
import { type FormEvent, useState } from 'react'
import { Problem } from '../parts.tsx'

export interface QuestionsProps {
  readonly questions: readonly Question[]
  readonly onAnswer: (answers: Readonly<Record<string, unknown>>) => Promise<void>
}

export function Questions({ questions, onAnswer }: QuestionsProps) {
  const [given, setGiven] = useState<Readonly<Record<string, unknown>>>({})
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const send = async (answers: Readonly<Record<string, unknown>>): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await onAnswer(answers)
    } catch (cause) {
      setProblem(cause)
    } finally {
      setBusy(false)
    }
  }
  const answer = (question: Question, value: unknown): void => {
    const answers = { ...given, [question.id]: value }
    setGiven(answers)
    if (questions.every(({ id }) => id in answers)) void send(answers)
  }
  return (
    <div className="questions">
      {questions.map((question) => (
        <fieldset key={question.id} disabled={busy} data-given={question.id in given || undefined}>
          <legend>{question.prompt}</legend>
          <QuestionForm question={question} onAnswer={(value) => answer(question, value)} />
        </fieldset>
      ))}
      {problem !== undefined && <Problem cause={problem} />}
    </div>
  )
}

interface QuestionFormProps {
  readonly question: Question
  readonly onAnswer: (value: unknown) => void
}

function QuestionForm({ question, onAnswer }: QuestionFormProps) {
  const { kind } = question
  const choices = choicesOf(question)
  if (kind === 'approval') return <Approval onAnswer={onAnswer} />
  if (kind === 'uncertain')
    return <Buttons choices={{ retry: 'Repeat it', fail: 'Fail the run' }} onAnswer={onAnswer} />
  if (kind === 'review') return <Review question={question} onAnswer={onAnswer} />
  if (choices !== undefined)
    return <Buttons choices={Object.fromEntries(choices.map((choice) => [choice, choice]))} onAnswer={onAnswer} />
  return <TextAnswer isText={isText(question)} onAnswer={onAnswer} />
}

function Approval({ onAnswer }: { readonly onAnswer: (value: unknown) => void }) {
  const [reason, setReason] = useState('')
  return (
    <>
      <label>
        Reason, if you deny it
        <input value={reason} onChange={({ target }) => setReason(target.value)} />
      </label>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => onAnswer(true)}>
          Approve
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => onAnswer(reason === '' ? false : { approved: false, reason })}
        >
          Deny
        </button>
      </div>
    </>
  )
}

function Review({ question, onAnswer }: QuestionFormProps) {
  const { output } = (question.details ?? {}) as { output?: unknown }
  const [text, setText] = useState(typeof output === 'string' ? output : JSON.stringify(output, undefined, 2))
  const [feedback, setFeedback] = useState('')
  const edited = typeof output === 'string' ? text : (parsed(text) ?? text)
  return (
    <>
      <label>
        Output
        <textarea rows={5} value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <label>
        Feedback, if you send it back
        <input value={feedback} onChange={({ target }) => setFeedback(target.value)} />
      </label>
      <div className="buttons">
        <button type="button" className="primary" onClick={() => onAnswer({ action: 'accept' })}>
          Accept
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'edit', output: edited })}>
          Accept as edited
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => onAnswer({ action: 'reject', ...(feedback !== '' && { feedback }) })}
        >
          Send back
        </button>
      </div>
    </>
  )
}

interface ButtonsProps {
  readonly choices: Readonly<Record<string, string>>
  readonly onAnswer: (value: unknown) => void
}

function Buttons({ choices, onAnswer }: ButtonsProps) {
  return (
    <div className="buttons">
      {Object.entries(choices).map(([choice, title]) => (
        <button key={choice} type="button" onClick={() => onAnswer(choice)}>
          {title}
        </button>
      ))}
    </div>
  )
}

/** As text, or as any JSON value where a text would not do. */
function TextAnswer({
  isText: textual,
  onAnswer,
}: {
  readonly isText: boolean
  readonly onAnswer: (value: unknown) => void
}) {
  const [text, setText] = useState('')
  const send = (event: FormEvent): void => {
    event.preventDefault()
    onAnswer(textual ? text : (parsed(text) ?? text))
  }
  return (
    <form onSubmit={send}>
      <label>
        {textual ? 'Answer' : 'Answer, as JSON'}
        <textarea rows={2} required value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <div className="buttons">
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </form>
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isText({ schema, kind }: Question): boolean {
  if (kind === 'tool') return false
  const { type } = (schema ?? {}) as { type?: unknown }
  return type === undefined || type === 'string'
}

function choicesOf({ schema, details }: Question): readonly string[] | undefined {
  const { choices } = (details ?? {}) as { choices?: unknown }
  const { enum: values } = (schema ?? {}) as { enum?: unknown }
  const found = Array.isArray(choices) ? choices : Array.isArray(values) ? values : undefined
  return found?.filter((choice): choice is string => typeof choice === 'string')
}
