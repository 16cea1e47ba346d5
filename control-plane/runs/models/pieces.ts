// Collects a reply in pieces, in the order in which they began. In the next round the provider receives them again,
// with the marks that it set. Some providers reject a thought without its signature or a call without its item id.
// Others then repeat their thinking.
import type { LanguageModelV3StreamPart, SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { ReplyPiece } from '../model.ts';

interface Pieces {
  /** Returns how many pieces began with the part. */
  add(part: LanguageModelV3StreamPart): number;
  /** Empty when text and calls contain the whole reply. */
  kept(): { readonly pieces?: readonly ReplyPiece[] };
}

interface MarkedPart {
  readonly id: string;
  readonly providerMetadata?: SharedV3ProviderMetadata;
}

interface Piece {
  readonly kind: ReplyPiece['kind'];
  text: string;
  length: number;
  mark: SharedV3ProviderMetadata | undefined;
}

export function createPieces(): Pieces {
  const all: Piece[] = [];
  /** The pieces that may still grow, by the kind and id of their part. */
  const open = new Map<string, Piece>();

  const push = (kind: Piece['kind'], mark: SharedV3ProviderMetadata | undefined): Piece => {
    const piece: Piece = { kind, text: '', length: 0, mark };
    all.push(piece);
    return piece;
  };
  const at = (kind: 'thought' | 'text', { id, providerMetadata }: MarkedPart): Piece => {
    const key = `${kind} ${id}`;
    const piece = open.get(key) ?? push(kind, undefined);
    open.set(key, piece);
    // The last mark replaces the earlier ones.
    piece.mark = providerMetadata ?? piece.mark;
    return piece;
  };

  return {
    add: (part) => {
      const before = all.length;
      switch (part.type) {
        case 'reasoning-start':
          at('thought', part);
          break;
        case 'reasoning-end':
          at('thought', part);
          open.delete(`thought ${part.id}`);
          break;
        case 'reasoning-delta':
          at('thought', part).text += part.delta;
          break;
        case 'text-start':
          at('text', part);
          break;
        case 'text-end':
          at('text', part);
          open.delete(`text ${part.id}`);
          break;
        case 'text-delta':
          at('text', part).length += part.delta.length;
          break;
        case 'tool-call':
          if (part.providerExecuted !== true) push('call', part.providerMetadata);
          break;
        default:
          break;
      }
      return all.length - before;
    },
    kept: () => {
      const pieces = all.map(pieceFrom);
      return pieces.some((piece) => piece.kind === 'thought' || piece.mark !== undefined) ? { pieces } : {};
    },
  };
}

function pieceFrom({ kind, text, length, mark }: Piece): ReplyPiece {
  const marked = mark === undefined ? {} : { mark };
  switch (kind) {
    case 'thought':
      return { kind, text, ...marked };
    case 'text':
      return { kind, length, ...marked };
    case 'call':
      return { kind, ...marked };
  }
}
